// Whether another thread of the process is asleep in a system call: then it is not running any code of the process,
// though a signal handler that it is asleep in may have interrupted some.
#pragma once

#include <cstdint>
#include <string_view>

namespace arenite::os {

// False as well if the kernel does not tell. Reads a link and a file of the kernel. For a thread of the calling
// process, but not the calling one, which is always found in the system call that reads.
bool sleeps_in_system_call(std::uint32_t thread_number);

// A part of it, for tests: what /proc/self/task/N/syscall says: "running", "-1 …" for a thread that sleeps but not in
// a system call, as in a page fault, or "NUMBER …".
bool is_in_system_call(std::string_view syscall);

}  // namespace arenite::os
