#include "os/sleeping_thread.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "os/clock.h"
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

// Whether it is found asleep before patience ends.
bool wait_for_sleep(std::uint32_t thread) {
  const std::uint64_t start = monotonic_microseconds();
  while (monotonic_microseconds() - start < kPatience) {
    if (sleeps_in_system_call(thread)) return true;
    std::this_thread::yield();
  }
  return false;
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

TEST(SleepingThread, AThreadThatSleepsOnIsAlwaysFoundAsleep) {
  if (!kernel_tells()) GTEST_SKIP();
  Sleeper sleeper;
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(wait_for_sleep(sleeper.number()));
    for (int look = 0; look < 20; ++look) EXPECT_TRUE(sleeps_in_system_call(sleeper.number()));
    sleeper.step();
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
  EXPECT_TRUE(wait_for_sleep(number));
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
  for (int look = 0; look < 50; ++look) EXPECT_FALSE(sleeps_in_system_call(number));
  stop = true;
  spinner.join();
}

TEST(SleepingThread, AThreadThatIsNotThereIsNotAsleep) {
  EXPECT_FALSE(sleeps_in_system_call(0));
  EXPECT_FALSE(sleeps_in_system_call(UINT32_MAX));
  std::uint32_t ended = 0;
  std::thread([&] { ended = thread_number(); }).join();
  const std::uint64_t start = monotonic_microseconds();
  while (sleeps_in_system_call(ended) && monotonic_microseconds() - start < kPatience) std::this_thread::yield();
  EXPECT_FALSE(sleeps_in_system_call(ended)) << "it may have been in its last call for a moment";
}

// The threads of a parent are none of the child's.
TEST(SleepingThread, AForkedChildSeesItsOwnThreads) {
  if (!kernel_tells()) GTEST_SKIP();
  const Sleeper sleeper;
  ASSERT_TRUE(wait_for_sleep(sleeper.number()));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(sleeps_in_system_call(sleeper.number()) ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace arenite::os
