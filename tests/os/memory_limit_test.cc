#include "os/memory_limit.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "fake/file.h"

namespace arenite::os {
namespace {

// A machine without groups, until a test makes some up.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    fake::hide("/sys/fs/cgroup");
    fake::set_file("/proc/self/cgroup", "");
  }
  ~MemoryLimitTest() override { fake::forget_files(); }
};

TEST_F(MemoryLimitTest, TheWordsForNoLimitAreKnown) {
  EXPECT_EQ(memory_limit_in("536870912\n"), 536870912U);
  EXPECT_EQ(memory_limit_in("0\n"), 0U);
  EXPECT_EQ(memory_limit_in("4611686018427387903"), (std::size_t{1} << 62) - 1);
  for (const char* const none : {"max\n", "9223372036854771712\n", "9223372036854775807", "4611686018427387904", ""}) {
    EXPECT_EQ(memory_limit_in(none), SIZE_MAX) << none;
  }
}

TEST_F(MemoryLimitTest, NoGroupsNoLimit) { EXPECT_EQ(memory_limit(), SIZE_MAX); }

TEST_F(MemoryLimitTest, TheLeastOfAGroupOfVersion2AndAllAboveItHolds) {
  fake::set_file("/proc/self/cgroup", "0::/outer/inner\n");
  fake::set_file("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(memory_limit(), SIZE_MAX);
  fake::set_file("/sys/fs/cgroup/outer/inner/memory.max", "5000000\n");
  EXPECT_EQ(memory_limit(), 5000000U);
  fake::set_file("/sys/fs/cgroup/outer/memory.max", "3000000\n");
  EXPECT_EQ(memory_limit(), 3000000U);
  fake::set_file("/sys/fs/cgroup/outer/memory.max", "7000000\n");
  EXPECT_EQ(memory_limit(), 5000000U);
}

TEST_F(MemoryLimitTest, TheLeastOfAGroupOfVersion1AndAllAboveItHolds) {
  fake::set_file("/proc/self/cgroup", "5:memory:/outer/inner\n4:cpu,cpuacct:/\n");
  fake::set_file("/sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "9223372036854771712\n");
  fake::set_file("/sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "4096\n");
  fake::set_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit(), 4096U);
}

// The path is the host's; the mount shows the container's own group as the root.
TEST_F(MemoryLimitTest, InAContainerTheRootOfTheMountCounts) {
  fake::set_file("/proc/self/cgroup", "0::/host/container\n");
  fake::set_file("/sys/fs/cgroup/memory.max", "800000\n");
  EXPECT_EQ(memory_limit(), 800000U);
  fake::set_file("/proc/self/cgroup", "5:memory:/host/container\n0::/\n");
  fake::set_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n");
  EXPECT_EQ(memory_limit(), 600000U);
}

TEST_F(MemoryLimitTest, VersionsCanBeMixed) {
  fake::set_file("/proc/self/cgroup", "5:memory:/one\n0::/two\n");
  fake::set_file("/sys/fs/cgroup/memory/one/memory.limit_in_bytes", "700000\n");
  fake::set_file("/sys/fs/cgroup/two/memory.max", "900000\n");
  EXPECT_EQ(memory_limit(), 700000U);
  fake::set_file("/sys/fs/cgroup/two/memory.max", "500000\n");
  EXPECT_EQ(memory_limit(), 500000U);
}

TEST_F(MemoryLimitTest, ReadsTheMachinesGroups) {
  fake::forget_files();
  EXPECT_GT(memory_limit(), 0U);
}

}  // namespace
}  // namespace arenite::os
