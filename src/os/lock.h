// A mutex of four bytes that knows its owner. Waiting is by futex; nothing of libc is used.
//
// word: 0 = free; else the owner's thread number in the low 30 bits, kWaiters set when somebody may sleep on it.
// Ranks say in which order locks may be taken: a debug build ends the process when a lower or equal rank follows a
// higher one.
#pragma once

#include <cstdint>

#include "base/attributes.h"
#include "os/thread.h"

namespace arenite::os {

// In the order in which they may be taken. docs/locking.md says what each guards.
enum class LockRank : std::uint8_t {
  kStart,     // one-time start-up
  kPressure,  // while a thread relieves pressure
  kArena,     // one arena: never two of them at once, but for fork
  kMappings,  // one shard of the registry of large mappings
  kRegistry,  // the list of arenas and the list of free caches: last
};

class Lock {
 public:
  explicit constexpr Lock(LockRank rank) : rank_(rank) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void acquire() {
    if (ARENITE_UNLIKELY(!try_acquire())) acquire_slow();
    note_acquire();
  }

  void release() {
    if (ARENITE_UNLIKELY(nested_ != 0)) {
      --nested_;
      return;
    }
    note_release();
    if (ARENITE_UNLIKELY((__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) & kWaiters) != 0)) wake_one();
  }

  bool held_by_me() const { return (__atomic_load_n(&word_, __ATOMIC_RELAXED) & kOwner) == thread_number(); }

  // Fork. The forking thread holds the lock from before_fork on, if it gets it within about `microseconds`; while it
  // does, its own acquire() and release() nest, since fork handlers of other libraries use the heap.
  // after_fork_in_child() makes the lock usable again, and is false when another thread held it at the fork: what it
  // guards may then be half changed.
  void before_fork(std::uint32_t microseconds);
  void after_fork_in_parent();
  bool after_fork_in_child(std::uint32_t forking_thread);

 private:
  static constexpr std::uint32_t kWaiters = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kOwner = (std::uint32_t{1} << 30) - 1;

  bool try_acquire();
  ARENITE_NOINLINE void acquire_slow();
  ARENITE_COLD void wake_one();
  void note_acquire() const;
  void note_release() const;

  std::uint32_t word_ = 0;
  LockRank rank_;
  bool held_for_fork_ = false;  // guarded by the lock itself
  std::uint16_t nested_ = 0;    // acquire() by the owner while held for fork; guarded by the lock itself
};

// Acquire pairs with the release in release(): the data guarded by the last owner is seen.
inline bool Lock::try_acquire() {
  std::uint32_t expected = 0;
  return __atomic_compare_exchange_n(&word_, &expected, thread_number(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.acquire(); }
  ~LockGuard() { lock_.release(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

// The lock is held before and after, not in between.
class UnlockGuard {
 public:
  explicit UnlockGuard(Lock& lock) : lock_(lock) { lock_.release(); }
  ~UnlockGuard() { lock_.acquire(); }
  UnlockGuard(const UnlockGuard&) = delete;
  UnlockGuard& operator=(const UnlockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace arenite::os
