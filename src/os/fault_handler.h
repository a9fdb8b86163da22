// Tells of accesses to memory that is not accessible, before the process ends by them as it would anyway.
#pragma once

#include <cstdint>

namespace arenite::os {

// An access that has failed, and where the thread was: its instruction, and its frame pointer, which may be anything.
struct Fault {
  std::uintptr_t address = 0;
  std::uintptr_t instruction = 0;
  std::uintptr_t frame = 0;
};

// The action is called in the thread that has touched the address, with its signals of that kind blocked. Then what was
// there before for such signals takes place. A handler that the program installs takes the place of this one.
using FaultAction = void (*)(const Fault& fault);
bool install_fault_handler(FaultAction action);

}  // namespace arenite::os
