#include "os/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace arenite::os {
namespace {

TEST(Processors, AsManyAsTheAffinityMaskSays) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(processor_count(), static_cast<std::size_t>(CPU_COUNT(&mask)));
}

TEST(Processors, OneWhereTheThreadIsPinned) {
  std::thread([] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(processor_count(), 1U);
  }).join();
}

TEST(Processors, QuotasAreRoundedUpToWholeProcessors) {
  EXPECT_EQ(processors_by_quota("max 100000\n"), SIZE_MAX);
  EXPECT_EQ(processors_by_quota("200000 100000\n"), 2U);
  EXPECT_EQ(processors_by_quota("150000 100000\n"), 2U);
  EXPECT_EQ(processors_by_quota("50000 100000\n"), 1U);
  EXPECT_EQ(processors_by_quota("-1\n 100000\n"), SIZE_MAX) << "version 1: no limit";
  EXPECT_EQ(processors_by_quota("400000\n 100000\n"), 4U);
  for (const char* const odd : {"", "5", "5 ", "5 0", "x 5", "99999999999999999999999 1"}) {
    EXPECT_EQ(processors_by_quota(odd), SIZE_MAX) << odd;
  }
}

TEST(Processors, TheGroupIsFoundByVersionAndController) {
  constexpr const char* kGroups = "3:cpuset:/a\n2:cpu,cpuacct:/b/c\n1:name=systemd:/d\n0::/e/f\n";
  EXPECT_EQ(control_group_path(kGroups, ""), "/e/f");
  EXPECT_EQ(control_group_path(kGroups, "cpu"), "/b/c");
  EXPECT_EQ(control_group_path(kGroups, "cpuacct"), "/b/c");
  EXPECT_EQ(control_group_path(kGroups, "memory"), "");
  EXPECT_EQ(control_group_path("0::/\n", ""), "") << "the root adds nothing to a path";
  EXPECT_EQ(control_group_path("0::/x", ""), "/x") << "without an end of line";
  for (const char* const odd : {"", "\n\n", "0", "0:", "0:cpu"}) EXPECT_EQ(control_group_path(odd, "cpu"), "") << odd;
}

}  // namespace
}  // namespace arenite::os
