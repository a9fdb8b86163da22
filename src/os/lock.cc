#include "os/lock.h"

#include <linux/futex.h>

#include "base/build.h"
#include "base/checks.h"
#include "os/clock.h"
#include "os/console.h"
#include "os/fork.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

constexpr int kSpins = 60;

// Debug builds: how many locks of each rank the thread holds. Locks held for fork do not count: fork takes all of them.
constexpr unsigned kRanks = static_cast<unsigned>(LockRank::kRegistry) + 1;
[[maybe_unused]] ARENITE_INITIAL_EXEC constinit thread_local std::uint8_t held_count[kRanks] = {};

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

void sleep_on(const std::uint32_t* word, std::uint32_t value) {
  system_call(SYS_futex, as_argument(word), FUTEX_WAIT_PRIVATE, static_cast<long>(value), /*timeout=*/0);
}

// What the interrupted call was changing is half done, and it would wait for ever for its own end.
[[noreturn]] ARENITE_COLD void end_interrupted_call() {
  write_all(
      kStandardError,
      "arenite: a signal handler uses the heap in the middle of a call of malloc or free that it has interrupted; "
      "handlers may only call what is safe in signals\n");
  abort_process();
}

}  // namespace

void Lock::note_acquire() const {
  if constexpr (kBuild.debug) {
    if (held_for_fork_) return;
    for (unsigned rank = static_cast<unsigned>(rank_); rank < kRanks; ++rank) ARENITE_CHECK(held_count[rank] == 0);
    ++held_count[static_cast<unsigned>(rank_)];
  }
}

void Lock::note_release() const {
  if constexpr (kBuild.debug) --held_count[static_cast<unsigned>(rank_)];
}

void Lock::acquire_slow() {
  const std::uint32_t me = thread_number();
  if (held_by_me()) {
    if (!held_for_fork_) end_interrupted_call();
    ++nested_;
    return;
  }
  for (int spin = 0; spin < kSpins; ++spin) {
    std::uint32_t expected = 0;
    if (__atomic_load_n(&word_, __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&word_, &expected, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      return;
    }
    pause_briefly();
  }
  // From here on the lock is taken with kWaiters set, since others may sleep: the release then wakes one, at worst in
  // vain.
  for (;;) {
    std::uint32_t seen = __atomic_load_n(&word_, __ATOMIC_RELAXED);
    if (seen == 0) {
      if (__atomic_compare_exchange_n(&word_, &seen, me | kWaiters, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
      continue;
    }
    if ((seen & kWaiters) == 0 &&
        !__atomic_compare_exchange_n(&word_, &seen, seen | kWaiters, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      continue;
    }
    if (repair_after_raw_fork()) return acquire_slow();  // the thread's number is another one now
    sleep_on(&word_, seen | kWaiters);
  }
}

void Lock::before_fork(std::uint32_t microseconds) {
  if (held_by_me()) return;  // fork in a signal handler that interrupted the owner
  const std::uint64_t deadline = monotonic_microseconds() + microseconds;
  while (!try_acquire()) {
    if (monotonic_microseconds() >= deadline) return;
    nap(50);  // not on the word: a wake-up that is meant for a waiter must not end here
  }
  held_for_fork_ = true;
}

void Lock::after_fork_in_parent() {
  if (!held_by_me() || !held_for_fork_) return;
  held_for_fork_ = false;
  if ((__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) & kWaiters) != 0) wake_one();
}

bool Lock::after_fork_in_child(std::uint32_t forking_thread) {
  const std::uint32_t owner = __atomic_load_n(&word_, __ATOMIC_RELAXED) & kOwner;
  if (owner == 0) {
    __atomic_store_n(&word_, 0, __ATOMIC_RELAXED);
    return true;
  }
  if (owner == forking_thread && !held_for_fork_) {  // the interrupted call goes on in the child, too
    __atomic_store_n(&word_, thread_number(), __ATOMIC_RELAXED);
    return true;
  }
  const bool sound = held_for_fork_;
  held_for_fork_ = false;
  nested_ = 0;
  __atomic_store_n(&word_, 0, __ATOMIC_RELAXED);
  return sound;
}

void Lock::wake_one() { system_call(SYS_futex, as_argument(&word_), FUTEX_WAKE_PRIVATE, 1); }

}  // namespace arenite::os
