// What the kernel handed to the process: environment, page size, privilege, random bytes. Taken from the initial stack,
// so it is the same whatever the program does to `environ`, and there before libc's own start-up has run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite::os {

struct ProcessStart {
  const char* const* environment;  // ends with null; null itself where the initial stack cannot be found
  std::size_t page_size;
  bool privileged;       // set-uid, set-gid or with raised capabilities
  std::uint64_t random;  // of the kernel's random bytes for this process
};

// Read at each call; cheap, but meant for start-up.
ProcessStart process_start();

// The value of NAME=value among `environment`; null data if it is not there.
std::string_view find_variable(const char* const* environment, std::string_view name);

}  // namespace arenite::os
