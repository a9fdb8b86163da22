#include "os/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "fake/file.h"

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

TEST(Processors, TheLeastQuotaOfTheGroupsAndThoseAboveHolds) {
  const auto processors = [](const char* groups) {
    fake::set_file("/proc/self/cgroup", groups);
    return processor_count();
  };
  fake::hide("/sys/fs/cgroup");
  const std::size_t all = processors("");  // one is the least in any case: then this shows little
  fake::set_file("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  fake::set_file("/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "50000\n");
  fake::set_file("/sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors("0::/a/inner\n"), 1U);
  EXPECT_EQ(processors("3:cpu,cpuacct:/b/inner\n"), 1U);
  EXPECT_EQ(processors("3:cpu,cpuacct:/a\n0::/b\n"), all) << "of the other version";
  fake::forget_files();
}

}  // namespace
}  // namespace arenite::os
