#include "os/overcommit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace arenite::os {
namespace {

TEST(Overcommit, TheWayFollowsTheSettingAndPrivilege) {
  EXPECT_EQ(purge_way_for("0\n", false), PurgeWay::kAdvise);
  EXPECT_EQ(purge_way_for("1\n", false), PurgeWay::kAdvise);
  EXPECT_EQ(purge_way_for("2\n", false), PurgeWay::kReplace);
  EXPECT_EQ(purge_way_for("", false), PurgeWay::kAdvise);
  EXPECT_EQ(purge_way_for("0\n", true), PurgeWay::kReplace);
}

TEST(Overcommit, ReadsTheMachinesSetting) {
  std::string setting;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> setting;
  EXPECT_EQ(purge_way(), purge_way_for(setting, false));
  EXPECT_EQ(purge_way(), purge_way_for(setting, false)) << "from the cache";
}

}  // namespace
}  // namespace arenite::os
