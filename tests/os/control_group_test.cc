#include "os/control_group.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake/file.h"

namespace arenite::os {
namespace {

class ControlGroupTest : public ::testing::Test {
 protected:
  ~ControlGroupTest() override { fake::forget_files(); }
};

TEST_F(ControlGroupTest, TheGroupIsFoundByVersionAndController) {
  constexpr const char* kGroups = "3:cpuset:/a\n2:cpu,cpuacct:/b/c\n1:name=systemd:/d\n0::/e/f\n";
  EXPECT_EQ(control_group_path(kGroups, ""), "/e/f");
  EXPECT_EQ(control_group_path(kGroups, "cpu"), "/b/c");
  EXPECT_EQ(control_group_path(kGroups, "cpuacct"), "/b/c");
  EXPECT_EQ(control_group_path(kGroups, "memory"), "");
  EXPECT_EQ(control_group_path("0::/\n", ""), "") << "the root adds nothing to a path";
  EXPECT_EQ(control_group_path("0::/x", ""), "/x") << "without an end of line";
  for (const char* const odd : {"", "\n\n", "0", "0:", "0:cpu"}) EXPECT_EQ(control_group_path(odd, "cpu"), "") << odd;
}

TEST_F(ControlGroupTest, TheOwnGroupsAreTheKernels) {
  fake::set_file("/proc/self/cgroup", "2:memory:/a/b\n0::/c\n");
  const OwnControlGroups groups;
  EXPECT_EQ(groups.path("memory"), "/a/b");
  EXPECT_EQ(groups.path(""), "/c");
  EXPECT_EQ(groups.path("cpu"), "");
}

TEST_F(ControlGroupTest, ParentsEndAtTheRoot) {
  EXPECT_EQ(parent_group("/a/bc/d"), "/a/bc");
  EXPECT_EQ(parent_group("/a/bc"), "/a");
  EXPECT_EQ(parent_group("/a"), "");
  EXPECT_EQ(parent_group(""), "");
  EXPECT_EQ(parent_group("odd"), "");
}

TEST_F(ControlGroupTest, TheWayUpTakesTheLeastAndEndsAtTheRoot) {
  std::vector<std::string> seen;
  const auto length = [&](std::string_view group) {
    seen.emplace_back(group);
    return group == "/a" ? std::size_t{1} : 5 + group.size();
  };
  EXPECT_EQ(least_on_the_way_up("/a/b", length), 1U);
  EXPECT_EQ(seen, (std::vector<std::string>{"/a/b", "/a", ""}));
  seen.clear();
  EXPECT_EQ(least_on_the_way_up("", length), 5U);
  EXPECT_EQ(seen, std::vector<std::string>{""});
  EXPECT_EQ(least_on_the_way_up("/long/way", [](std::string_view) { return kNoLimit; }), kNoLimit);
}

TEST_F(ControlGroupTest, AFileIsReadBelowTheMount) {
  fake::set_file("/mount/a/b/cpu.max", "some text");
  fake::set_file("/mount/cpu.max", "of the root");
  char buffer[20];
  EXPECT_EQ(read_group_file("/mount", "/a/b", "cpu.max", buffer, sizeof buffer), "some text");
  EXPECT_EQ(read_group_file("/mount", "", "cpu.max", buffer, sizeof buffer), "of the root");
  EXPECT_EQ(read_group_file("/mount", "/a/b", "cpu.max", buffer, 4), "some");
  EXPECT_EQ(read_group_file("/mount", "/a/b", "other", buffer, sizeof buffer), "");
}

TEST_F(ControlGroupTest, APathThatIsTooLongIsNotCutOff) {
  const std::string group = "/" + std::string(600, 'g');
  fake::set_file(("/mount" + group).substr(0, 511), "something else");
  fake::set_file(("/mount" + group).substr(0, 512), "something else");
  char buffer[20];
  EXPECT_EQ(read_group_file("/mount", group, "cpu.max", buffer, sizeof buffer), "");
}

}  // namespace
}  // namespace arenite::os
