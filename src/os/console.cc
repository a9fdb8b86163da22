#include "os/console.h"

#include <signal.h>
#include <stdlib.h>

#include "base/checks.h"
#include "base/text.h"
#include "os/syscall.h"

namespace arenite {

void os::write_all(int descriptor, std::string_view text) {
  constexpr long kInterrupted = -4;
  while (!text.empty()) {
    const long written = system_call(SYS_write, descriptor, as_argument(text.data()), as_argument(text.size()));
    if (written == kInterrupted) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void os::abort_process() { ::abort(); }

void os::end_process() {
  const struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } by_default = {};  // as the kernel has it
  system_call(SYS_rt_sigaction, SIGABRT, as_argument(&by_default), 0, sizeof by_default.mask);
  const unsigned long abort_only = 1UL << (SIGABRT - 1);
  system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&abort_only), 0, sizeof abort_only);
  system_call(SYS_tgkill, system_call(SYS_getpid), system_call(SYS_gettid), SIGABRT);
  for (;;) system_call(SYS_exit_group, 128 + SIGABRT);
}

void check_failed(const char* file, int line, const char* text) {
  Text<256> message;
  message.add("arenite: ").add(file).add(':').add_decimal(static_cast<unsigned>(line));
  message.add(": internal check failed: ").add(text).add('\n');
  os::write_all(os::kStandardError, message.view());
  os::abort_process();
}

}  // namespace arenite
