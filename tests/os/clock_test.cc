#include "os/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <string>

#include "fake/clock.h"

namespace arenite::os {
namespace {

class ClockTest : public ::testing::TestWithParam<std::uint64_t (*)()> {};

TEST_P(ClockTest, CountsMicrosecondsAndNeverGoesBack) {
  const auto clock = GetParam();
  const std::uint64_t start = clock();
  std::uint64_t last = start;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = clock();
    ASSERT_GE(now, last);
    last = now;
  }
  const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&pause, nullptr);
  const std::uint64_t slept = clock() - start;
  EXPECT_GE(slept, 20'000U);
  EXPECT_LT(slept, 20'000'000U);
}

INSTANTIATE_TEST_SUITE_P(Both, ClockTest,
                         ::testing::Values(real_os::monotonic_microseconds, os::monotonic_microseconds),
                         [](const auto& instance) { return std::string(instance.index == 0 ? "real" : "fake"); });

TEST(FakeClock, ATestSetsItForward) {
  const std::uint64_t real = real_os::monotonic_microseconds();
  const std::uint64_t start = monotonic_microseconds();
  fake::advance_clock(3'000'000'000);
  EXPECT_GE(monotonic_microseconds() - start, 3'000'000'000U);
  EXPECT_LT(real_os::monotonic_microseconds() - real, 1'000'000'000U);
}

}  // namespace
}  // namespace arenite::os
