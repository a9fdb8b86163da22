#include "os/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace arenite::os {
namespace {

TEST(Clock, CountsMicrosecondsAndNeverGoesBack) {
  const std::uint64_t start = monotonic_microseconds();
  std::uint64_t last = start;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = monotonic_microseconds();
    ASSERT_GE(now, last);
    last = now;
  }
  const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&pause, nullptr);
  const std::uint64_t slept = monotonic_microseconds() - start;
  EXPECT_GE(slept, 20'000U);
  EXPECT_LT(slept, 20'000'000U);
}

}  // namespace
}  // namespace arenite::os
