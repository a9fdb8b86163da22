#include "os/sleeping_thread.h"

#include <cstddef>

#include "base/text.h"
#include "os/file.h"
#include "os/kernel_text.h"

namespace arenite::os {

namespace {

std::string_view read_thread_file(std::uint32_t thread, std::string_view name, char* buffer, std::size_t capacity) {
  Text<64> path;
  path.add("/proc/self/task/").add_decimal(thread).add('/').add(name).add('\0');
  return read_file(path.view().data(), buffer, capacity);
}

}  // namespace

bool is_in_system_call(std::string_view syscall) { return leading_number(syscall) != kNoNumber; }

std::uint64_t switches_in(std::string_view status) {
  const std::uint64_t voluntary = leading_number(line_value(status, "voluntary_ctxt_switches"));
  const std::uint64_t forced = leading_number(line_value(status, "nonvoluntary_ctxt_switches"));
  return voluntary == kNoNumber || forced == kNoNumber ? kNoNumber : voluntary + forced;
}

// The counters are read last: read first, they would miss a thread that runs at the second look until just before it is
// found asleep.
Sleep look_at_thread(std::uint32_t thread_number) {
  char buffer[4096];
  const bool asleep = is_in_system_call(read_thread_file(thread_number, "syscall", buffer, sizeof buffer));
  if (!asleep) return {.in_system_call = false, .switches = 0};
  const std::uint64_t switches = switches_in(read_thread_file(thread_number, "status", buffer, sizeof buffer));
  return {.in_system_call = switches != kNoNumber, .switches = switches};
}

}  // namespace arenite::os
