#include "os/sleeping_thread.h"

#include <fcntl.h>

#include "base/text.h"
#include "os/file.h"
#include "os/kernel_text.h"
#include "os/syscall.h"
#include "os/thread.h"

namespace arenite::os {

namespace {

// In a namespace of process numbers whose /proc is another's, the numbers there mean other threads.
bool proc_has_our_numbers() {
  Text<64> expected;
  expected.add_decimal(static_cast<std::size_t>(system_call(SYS_getpid))).add("/task/").add_decimal(thread_number());
  char target[64];
  const long length =
      system_call(SYS_readlinkat, AT_FDCWD, as_argument("/proc/thread-self"), as_argument(target), sizeof target);
  return !failed(length) && std::string_view(target, static_cast<std::size_t>(length)) == expected.view();
}

}  // namespace

bool is_in_system_call(std::string_view syscall) { return leading_number(syscall) != kNoNumber; }

bool sleeps_in_system_call(std::uint32_t number) {
  if (!proc_has_our_numbers()) return false;
  Text<64> path;
  path.add("/proc/self/task/").add_decimal(number).add("/syscall").add('\0');
  char buffer[256];
  return is_in_system_call(read_file(path.view().data(), buffer, sizeof buffer));
}

}  // namespace arenite::os
