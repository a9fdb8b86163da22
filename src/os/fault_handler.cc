#include "os/fault_handler.h"

#include <signal.h>
#include <ucontext.h>

#include "base/bits.h"
#include "base/sealed.h"
#include "os/errno_keeper.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

struct sigaction before;

void set_place(const void* context, Fault* fault) {
  [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  fault->instruction = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
  fault->frame = static_cast<std::uintptr_t>(machine.gregs[REG_RBP]);
#elif defined(__aarch64__)
  fault->instruction = machine.pc;
  fault->frame = machine.regs[29];
#endif
}

// The access is made again when the handler returns, and then meets what was there before. A signal that somebody has
// sent is sent again.
void on_fault(int signal, siginfo_t* information, void* context) {
  const ErrnoKeeper keeper;
  const bool was_sent = information->si_code <= 0;
  if (!was_sent) {
    Fault fault{.address = address_of(information->si_addr)};
    set_place(context, &fault);
    sealed.at_fault(fault);
  }
  sigaction(signal, &before, nullptr);
  if (was_sent) {
    system_call(SYS_tgkill, system_call(SYS_getpid), system_call(SYS_gettid), signal);
  }
}

}  // namespace

bool install_fault_handler(FaultAction action) {
  sealed.at_fault = action;
  struct sigaction handler = {};
  handler.sa_sigaction = on_fault;
  handler.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&handler.sa_mask);
  return sigaction(SIGSEGV, &handler, &before) == 0;
}

}  // namespace arenite::os
