// Whether another thread of the process is asleep in a system call, and for how long it has not run.
//
// A thread that is asleep in a system call at two looks, with the same number of switches, has not run from the end of
// the first look to the start of the second: to run and sleep again it would have been switched away.
#pragma once

#include <cstdint>
#include <string_view>

namespace arenite::os {

struct Sleep {
  bool in_system_call;     // asleep in one; false as well if the kernel does not tell
  std::uint64_t switches;  // how often the thread has been switched away
};

// Reads two files of the kernel, with 4 KiB of stack. For a thread of the calling process, but not the calling one,
// which is always found in the system call that reads.
Sleep look_at_thread(std::uint32_t thread_number);

// The parts of it, for tests.
//
// What /proc/self/task/N/syscall says: "running", "-1 …" for a thread that sleeps but not in a system call, as in a
// page fault, or "NUMBER …".
bool is_in_system_call(std::string_view syscall);
// The sum of both counters in the text of /proc/self/task/N/status; kNoNumber if one is missing.
std::uint64_t switches_in(std::string_view status);

}  // namespace arenite::os
