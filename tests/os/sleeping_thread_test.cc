#include "os/sleeping_thread.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "os/clock.h"
#include "os/kernel_text.h"
#include "os/thread.h"

namespace arenite::os {
namespace {

constexpr std::uint64_t kPatience = 10'000'000;

// A thread that sleeps in read() between two steps.
class Sleeper {
 public:
  Sleeper() {
    EXPECT_EQ(pipe(ends_), 0);
    thread_ = std::thread([this] {
      number_ = thread_number();
      for (char byte; read(ends_[0], &byte, 1) == 1;) ++steps_;
    });
    while (number_ == 0) std::this_thread::yield();
  }
  ~Sleeper() {
    close(ends_[1]);
    thread_.join();
    close(ends_[0]);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  std::uint32_t number() const { return number_; }
  void step() {
    const int before = steps_;
    EXPECT_EQ(write(ends_[1], "x", 1), 1);
    while (steps_ == before) std::this_thread::yield();
  }

 private:
  int ends_[2];
  std::atomic<std::uint32_t> number_{0};
  std::atomic<int> steps_{0};
  std::thread thread_;
};

// The first look that finds the thread asleep in a system call.
Sleep wait_for_sleep(std::uint32_t thread) {
  const std::uint64_t start = monotonic_microseconds();
  for (;;) {
    const Sleep sleep = look_at_thread(thread);
    if (sleep.in_system_call || monotonic_microseconds() - start > kPatience) return sleep;
    std::this_thread::yield();
  }
}

// Not every kernel is built to tell.
bool kernel_tells() { return access("/proc/self/syscall", R_OK) == 0; }

TEST(SleepingThread, TheFirstFieldTells) {
  EXPECT_TRUE(is_in_system_call("0 0x3 0x7ffc 0x400 0x0 0x0 0x0 0x7ffd 0x7f00\n")) << "read";
  EXPECT_TRUE(is_in_system_call("202 0x1"));
  for (const char* const other : {"", "running\n", "-1 0x7ffd 0x7f00\n", "\n", "x"}) {
    EXPECT_FALSE(is_in_system_call(other)) << other;
  }
}

TEST(SleepingThread, BothCountersAreAdded) {
  EXPECT_EQ(switches_in("Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n"), 157U);
  EXPECT_EQ(switches_in("nonvoluntary_ctxt_switches:\t1\nvoluntary_ctxt_switches:\t20"), 21U);
  EXPECT_EQ(switches_in("voluntary_ctxt_switches:\t150\n"), kNoNumber);
  EXPECT_EQ(switches_in("nonvoluntary_ctxt_switches:\t150\n"), kNoNumber);
  EXPECT_EQ(switches_in("voluntary_ctxt_switches:\t\nnonvoluntary_ctxt_switches:\t7\n"), kNoNumber);
  EXPECT_EQ(switches_in(""), kNoNumber);
}

TEST(SleepingThread, AThreadThatSleepsOnDoesNotSwitch) {
  if (!kernel_tells()) GTEST_SKIP();
  const Sleeper sleeper;
  const Sleep first = wait_for_sleep(sleeper.number());
  ASSERT_TRUE(first.in_system_call);
  EXPECT_GT(first.switches, 0U);
  for (int look = 0; look < 50; ++look) {
    const Sleep again = look_at_thread(sleeper.number());
    EXPECT_TRUE(again.in_system_call);
    EXPECT_EQ(again.switches, first.switches);
  }
}

TEST(SleepingThread, AThreadThatRanInBetweenHasSwitched) {
  if (!kernel_tells()) GTEST_SKIP();
  Sleeper sleeper;
  Sleep last = wait_for_sleep(sleeper.number());
  for (int round = 0; round < 50; ++round) {
    sleeper.step();
    const Sleep next = wait_for_sleep(sleeper.number());
    ASSERT_TRUE(next.in_system_call);
    EXPECT_GT(next.switches, last.switches);
    last = next;
  }
}

TEST(SleepingThread, WaitingForALockIsASystemCall) {
  if (!kernel_tells()) GTEST_SKIP();
  std::atomic<std::uint32_t> number{0};
  std::atomic<int> word{0};
  std::thread waiter([&] {
    number = thread_number();
    while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  });
  while (number == 0) std::this_thread::yield();
  EXPECT_TRUE(wait_for_sleep(number).in_system_call);
  word = 1;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  waiter.join();
}

TEST(SleepingThread, AThreadThatSpinsIsNotAsleep) {
  std::atomic<std::uint32_t> number{0};
  std::atomic<bool> stop{false};
  std::thread spinner([&] {
    number = thread_number();
    while (!stop) std::atomic_signal_fence(std::memory_order_seq_cst);
  });
  while (number == 0) std::this_thread::yield();
  for (int look = 0; look < 50; ++look) EXPECT_FALSE(look_at_thread(number).in_system_call);
  stop = true;
  spinner.join();
}

TEST(SleepingThread, AThreadThatIsNotThereIsNotAsleep) {
  EXPECT_FALSE(look_at_thread(0).in_system_call);
  EXPECT_FALSE(look_at_thread(UINT32_MAX).in_system_call);
  std::uint32_t ended = 0;
  std::thread([&] { ended = thread_number(); }).join();
  const std::uint64_t start = monotonic_microseconds();
  while (look_at_thread(ended).in_system_call && monotonic_microseconds() - start < kPatience)
    std::this_thread::yield();
  EXPECT_FALSE(look_at_thread(ended).in_system_call) << "it may have been in its last call for a moment";
}

// The threads of a parent are none of the child's.
TEST(SleepingThread, AForkedChildSeesItsOwnThreads) {
  if (!kernel_tells()) GTEST_SKIP();
  const Sleeper sleeper;
  ASSERT_TRUE(wait_for_sleep(sleeper.number()).in_system_call);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(look_at_thread(sleeper.number()).in_system_call ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace arenite::os
