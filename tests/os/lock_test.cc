#include "os/lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/build.h"
#include "os/clock.h"

namespace arenite::os {
namespace {

void sleep_milliseconds(long milliseconds) {
  const timespec pause{.tv_sec = 0, .tv_nsec = milliseconds * 1'000'000};
  nanosleep(&pause, nullptr);
}

// Runs `body` in a forked child; true if it returns true there.
template <typename Body>
bool in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

static_assert(sizeof(Lock) <= 8);

TEST(Lock, OneThreadAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  Lock lock(LockRank::kArena);
  long counter = 0;  // plain: ThreadSanitizer sees whether the lock orders the accesses
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const LockGuard guard(lock);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kRounds);
}

TEST(Lock, WaitersSleepAndAreWoken) {
  Lock lock(LockRank::kArena);
  std::atomic<int> entered{0};
  lock.acquire();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const LockGuard guard(lock);
      ++entered;
    });
  }
  sleep_milliseconds(20);  // long enough that they have given up spinning
  EXPECT_EQ(entered, 0);
  lock.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered, 3);
}

TEST(Lock, TheOwnerIsKnown) {
  Lock lock(LockRank::kArena);
  EXPECT_FALSE(lock.held_by_me());
  lock.acquire();
  EXPECT_TRUE(lock.held_by_me());
  std::thread([&] { EXPECT_FALSE(lock.held_by_me()); }).join();
  lock.release();
  EXPECT_FALSE(lock.held_by_me());
}

TEST(Lock, DifferentRanksNestUpwards) {
  Lock arena(LockRank::kArena);
  Lock mappings(LockRank::kMappings);
  Lock registry(LockRank::kRegistry);
  for (int i = 0; i < 2; ++i) {
    const LockGuard first(arena);
    const LockGuard second(mappings);
    const LockGuard third(registry);
  }
}

void acquire_both(LockRank first, LockRank second) {
  Lock a(first);
  Lock b(second);
  a.acquire();
  b.acquire();
}

TEST(LockDeathTest, AWrongOrderEndsADebugBuild) {
  if (!kBuild.debug) GTEST_SKIP() << "ranks are checked in debug builds only";
  EXPECT_DEATH(acquire_both(LockRank::kMappings, LockRank::kArena), "internal check failed");
  EXPECT_DEATH(acquire_both(LockRank::kRegistry, LockRank::kStart), "internal check failed");
  EXPECT_DEATH(acquire_both(LockRank::kArena, LockRank::kArena), "internal check failed");
}

TEST(LockDeathTest, TheOwnerCannotAcquireAgain) {
  Lock lock(LockRank::kArena);
  EXPECT_DEATH(
      {
        lock.acquire();
        lock.acquire();
      },
      "a signal handler uses the heap");
}

TEST(LockFork, AFreeLockIsHeldAcrossForkAndUsableOnBothSides) {
  Lock lock(LockRank::kArena);
  const std::uint32_t me = thread_number();
  lock.before_fork(1000);
  EXPECT_TRUE(lock.held_by_me());
  EXPECT_TRUE(in_child([&] {
    forget_thread_number();
    const bool sound = lock.after_fork_in_child(me);
    const bool free = !lock.held_by_me();
    const LockGuard guard(lock);
    return sound && free;
  }));
  lock.after_fork_in_parent();
  EXPECT_FALSE(lock.held_by_me());
  std::thread([&] { const LockGuard guard(lock); }).join();
}

// Fork handlers of other libraries use the heap while ours hold the locks.
TEST(LockFork, TheForkingThreadNestsInsideFork) {
  Lock lock(LockRank::kArena);
  Lock last(LockRank::kRegistry);
  const std::uint32_t me = thread_number();
  const auto nest = [&] {
    for (int i = 0; i < 3; ++i) {
      const LockGuard outer(lock);
      const LockGuard inner(last);
      EXPECT_TRUE(lock.held_by_me());
    }
  };
  lock.before_fork(1000);
  last.before_fork(1000);
  nest();
  EXPECT_TRUE(lock.held_by_me()) << "still held after nested use";
  EXPECT_TRUE(in_child([&] {
    forget_thread_number();
    const bool sound = lock.after_fork_in_child(me) && last.after_fork_in_child(me);
    nest();
    return sound && !lock.held_by_me();
  }));
  lock.after_fork_in_parent();
  nest();  // handlers of others that run between ours
  last.after_fork_in_parent();
  nest();
  EXPECT_FALSE(lock.held_by_me());
  EXPECT_FALSE(last.held_by_me());
}

TEST(LockFork, OthersWaitWhileItIsHeldForFork) {
  Lock lock(LockRank::kArena);
  lock.before_fork(1000);
  std::atomic<bool> entered{false};
  std::thread waiter([&] {
    const LockGuard guard(lock);
    entered = true;
  });
  sleep_milliseconds(20);
  EXPECT_FALSE(entered);
  lock.after_fork_in_parent();
  waiter.join();
  EXPECT_TRUE(entered);
}

TEST(LockFork, WhatAnotherThreadHoldsIsNotWaitedForLongAndNotSoundInTheChild) {
  Lock lock(LockRank::kArena);
  const std::uint32_t me = thread_number();
  std::atomic<bool> held{false};
  std::atomic<bool> forked{false};
  std::thread owner([&] {
    const LockGuard guard(lock);
    held = true;
    while (!forked) sleep_milliseconds(1);
  });
  while (!held) sleep_milliseconds(1);
  const std::uint64_t start = monotonic_microseconds();
  lock.before_fork(5000);
  const std::uint64_t waited = monotonic_microseconds() - start;
  EXPECT_GE(waited, 5000U);
  EXPECT_LT(waited, 2'000'000U);
  EXPECT_FALSE(lock.held_by_me());
  EXPECT_TRUE(in_child([&] {
    forget_thread_number();
    const bool sound = lock.after_fork_in_child(me);
    const LockGuard guard(lock);  // usable all the same
    return !sound;
  }));
  lock.after_fork_in_parent();
  forked = true;
  owner.join();
  const LockGuard guard(lock);
}

TEST(LockFork, AWaitThatEndsInTimeGetsTheLock) {
  Lock lock(LockRank::kArena);
  std::atomic<bool> held{false};
  std::thread owner([&] {
    const LockGuard guard(lock);
    held = true;
    sleep_milliseconds(10);
  });
  while (!held) sleep_milliseconds(1);
  lock.before_fork(10'000'000);
  EXPECT_TRUE(lock.held_by_me());
  lock.after_fork_in_parent();
  owner.join();
}

// fork in a signal handler that interrupted the owner: both processes go on inside, and release when the call ends.
TEST(LockFork, AnInterruptedOwnerKeepsTheLockOnBothSides) {
  Lock lock(LockRank::kArena);
  const std::uint32_t me = thread_number();
  lock.acquire();
  lock.before_fork(1000);
  EXPECT_TRUE(in_child([&] {
    forget_thread_number();
    const bool sound = lock.after_fork_in_child(me);
    const bool held = lock.held_by_me();
    lock.release();
    return sound && held && !lock.held_by_me();
  }));
  lock.after_fork_in_parent();
  EXPECT_TRUE(lock.held_by_me());
  lock.release();
  EXPECT_FALSE(lock.held_by_me());
}

TEST(LockFork, WaitersAtTheForkDoNotExistInTheChild) {
  Lock lock(LockRank::kArena);
  const std::uint32_t me = thread_number();
  lock.before_fork(1000);
  std::thread waiter([&] { const LockGuard guard(lock); });
  sleep_milliseconds(20);
  EXPECT_TRUE(in_child([&] {
    forget_thread_number();
    const bool sound = lock.after_fork_in_child(me);
    lock.acquire();
    lock.release();
    return sound;
  }));
  lock.after_fork_in_parent();
  waiter.join();
}

// Threads that wait while another takes the lock for fork again and again: each wake-up reaches one of them.
TEST(Lock, NoWaiterIsForgottenWhereForkTakesPart) {
  Lock lock(LockRank::kArena);
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  const auto hold_briefly = [&] {
    while (!stop) {
      lock.acquire();
      for (int spin = 0; spin < 2000; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
      lock.release();
      ++rounds;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(hold_briefly);
  for (int i = 0; i < 2000 || rounds < 200; ++i) {
    lock.before_fork(1'000'000);
    lock.after_fork_in_parent();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(rounds, 200) << "all threads have come to their end";
  EXPECT_FALSE(lock.held_by_me());
}

}  // namespace
}  // namespace arenite::os
