#include "os/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace arenite::os {
namespace {

// ThreadSanitizer takes its own state of the thread down in the same round of destructors, and dies of what runs later.
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#else
constexpr bool kThreadSanitizer = false;
#endif

std::uint32_t kernel_number() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

TEST(Thread, NumbersAreTheKernels) {
  EXPECT_EQ(thread_number(), kernel_number());
  EXPECT_EQ(thread_number(), kernel_number());
  std::uint32_t other = 0;
  std::thread([&] {
    other = thread_number();
    EXPECT_EQ(other, kernel_number());
  }).join();
  EXPECT_NE(other, thread_number());
}

TEST(Thread, AForkedChildForgetsItsNumber) {
  const std::uint32_t number = thread_number();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool old_is_cached = thread_number() == number;
    forget_thread_number();
    _exit(old_is_cached && thread_number() == kernel_number() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

std::atomic<int> exits{0};
std::atomic<int> exits_before_others{0};
std::atomic<int> others{0};

// A key of the program whose destructor runs in three rounds, as one does whose destructor sets it again.
pthread_key_t other_key;
void on_other_key(void* round) {
  ++others;
  if (exits != 0) ++exits_before_others;
  const auto rounds = reinterpret_cast<std::uintptr_t>(round);
  if (rounds < 3) pthread_setspecific(other_key, reinterpret_cast<void*>(rounds + 1));
}

TEST(Thread, TheExitActionRunsOncePerThreadThatAskedAndLate) {
  if (kThreadSanitizer) GTEST_SKIP();
  install_thread_exit([] { ++exits; });
  ASSERT_EQ(pthread_key_create(&other_key, on_other_key), 0);
  std::thread([] {}).join();
  EXPECT_EQ(exits, 0);
  std::thread([] {
    request_thread_exit();
    request_thread_exit();
    pthread_setspecific(other_key, reinterpret_cast<void*>(std::uintptr_t{1}));
    EXPECT_EQ(exits, 0);
  }).join();
  EXPECT_EQ(exits, 1);
  EXPECT_EQ(others, 3);
  EXPECT_EQ(exits_before_others, 0) << "destructors that run again and again still find the thread's cache";
  for (int i = 0; i < 5; ++i) std::thread([] { request_thread_exit(); }).join();
  EXPECT_EQ(exits, 6);
}

}  // namespace
}  // namespace arenite::os
