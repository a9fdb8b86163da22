#include "os/overcommit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace arenite::os {
namespace {

TEST(Overcommit, TheWayFollowsTheSettingAndPrivilege) {
  EXPECT_EQ(release_way_for("0\n", false), ReleaseWay::kAdvise);
  EXPECT_EQ(release_way_for("1\n", false), ReleaseWay::kAdvise);
  EXPECT_EQ(release_way_for("2\n", false), ReleaseWay::kReplace);
  EXPECT_EQ(release_way_for("", false), ReleaseWay::kAdvise);
  EXPECT_EQ(release_way_for("0\n", true), ReleaseWay::kReplace);
}

TEST(Overcommit, ReadsTheMachinesSetting) {
  std::string setting;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> setting;
  EXPECT_EQ(release_way(), release_way_for(setting, false));
  EXPECT_EQ(release_way(), release_way_for(setting, false)) << "from the cache";
}

}  // namespace
}  // namespace arenite::os
