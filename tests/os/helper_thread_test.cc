#include "os/helper_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>

namespace arenite::os {
namespace {

std::atomic<bool> done{false};
std::atomic<bool> takes_signals{true};
pthread_t helper;

void body() {
  helper = pthread_self();
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  takes_signals = sigismember(&mask, SIGUSR1) == 0 || sigismember(&mask, SIGTERM) == 0;
  done = true;
}

TEST(HelperThread, RunsBesideTheCallerAndTakesNoSignals) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_TRUE(start_helper_thread(body));
  while (!done) std::this_thread::yield();
  EXPECT_FALSE(pthread_equal(helper, pthread_self()));
  EXPECT_FALSE(takes_signals);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1)) << "the caller's mask is as before";
}

}  // namespace
}  // namespace arenite::os
