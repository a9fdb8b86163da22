// What is mapped into the process, as /proc/self/maps tells, read in small pieces: for reports, where nothing may be
// allocated and the stack may be small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite::os {

struct Mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uintptr_t file_offset = 0;  // of the start
  bool executable = false;
  std::size_t name_length = 0;
  char name[120];  // of the file, cut off at the front where it is longer; or "[stack]" and the like

  std::string_view name_view() const { return {name, name_length}; }
};

// The mapping that the address lies in. False if there is none, or the list cannot be read.
bool find_mapping(std::uintptr_t address, Mapping* mapping);

// The whole list to a file descriptor; errors are ignored.
void write_memory_map(int descriptor);

}  // namespace arenite::os
