#include "os/sleeping_thread.h"

#include "base/text.h"
#include "os/file.h"
#include "os/kernel_text.h"

namespace arenite::os {

bool is_in_system_call(std::string_view syscall) { return leading_number(syscall) != kNoNumber; }

bool sleeps_in_system_call(std::uint32_t thread_number) {
  Text<64> path;
  path.add("/proc/self/task/").add_decimal(thread_number).add("/syscall").add('\0');
  char buffer[256];
  return is_in_system_call(read_file(path.view().data(), buffer, sizeof buffer));
}

}  // namespace arenite::os
