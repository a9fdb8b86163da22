// A thread that is taken through a piece of code instruction by instruction, by the processor's trap flag: a
// deterministic scheduler over the real library. x86-64 only.
#ifndef ARENITE_TESTS_MODEL_STEPPING_H
#define ARENITE_TESTS_MODEL_STEPPING_H

#include <ucontext.h>

#include <atomic>

#include "process/support.h"

#if defined(__x86_64__)
inline constexpr bool kCanStep = true;
#else
inline constexpr bool kCanStep = false;
#endif

// Called in the stepping thread, in the handler of SIGTRAP, before each of its instructions. False: no more steps.
inline bool (*at_step)() = nullptr;
// Of the calling thread, since its last start_steps().
inline thread_local volatile long steps = 0;

#if defined(__x86_64__)
inline constexpr long kTrapFlag = 0x100;

inline void on_trap(int, siginfo_t*, void* context) {
  const int saved = errno;
  steps = steps + 1;
  if (at_step != nullptr && !at_step()) static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  errno = saved;
}

__attribute__((always_inline)) inline void start_steps() {
  steps = 0;
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}
__attribute__((always_inline)) inline void end_steps() {
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

inline void set_up_steps() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  REQUIRE(sigaction(SIGTRAP, &action, nullptr) == 0);
}
#else
inline void on_trap(int, siginfo_t*, void*) {}
inline void start_steps() {}
inline void end_steps() {}
inline void set_up_steps() {}
#endif

// A thread stops at one of its steps until it is let go on, while others do what they want.
class Stop {
 public:
  void reset(long step) {
    step_ = step;
    stopped_ = false;
    goes_on_ = false;
  }
  // In at_step.
  bool pass() {
    if (steps < step_) return true;
    stopped_ = true;
    while (!goes_on_) usleep(5);
    return false;
  }
  bool is_stopped() const { return stopped_; }
  void go_on() { goes_on_ = true; }

 private:
  long step_ = 0;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> goes_on_{false};
};

#endif
