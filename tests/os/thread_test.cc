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

// A key of the program whose destructor is the first to ask, when the thread is ending already.
pthread_key_t late_key;
void on_late_key(void*) { request_thread_exit(); }

TEST(Thread, TheExitActionRunsOncePerThreadThatAsked) {
  if (kThreadSanitizer) GTEST_SKIP();
  ASSERT_EQ(pthread_key_create(&late_key, on_late_key), 0);
  install_thread_exit([] { ++exits; });
  std::thread([] {}).join();
  EXPECT_EQ(exits, 0);
  std::thread([] {
    request_thread_exit();
    request_thread_exit();
    EXPECT_EQ(exits, 0);
  }).join();
  EXPECT_EQ(exits, 1);
  for (int i = 0; i < 5; ++i) std::thread([] { request_thread_exit(); }).join();
  EXPECT_EQ(exits, 6);
  std::thread([] { pthread_setspecific(late_key, &late_key); }).join();
  EXPECT_EQ(exits, 7) << "asked for in the first round of destructors";
}

}  // namespace
}  // namespace arenite::os
