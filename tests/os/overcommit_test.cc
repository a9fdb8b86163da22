#include "os/overcommit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "fake/clock.h"
#include "fake/file.h"

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
  fake::advance_clock(1'000'000);
  std::string setting;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> setting;
  EXPECT_EQ(purge_way(), purge_way_for(setting, false));
  EXPECT_EQ(purge_way(), purge_way_for(setting, false)) << "from the cache";
}

TEST(Overcommit, AChangeOfTheSettingIsFollowedWithinASecond) {
  const auto way_a_second_later = [](const char* setting) {
    fake::set_file("/proc/sys/vm/overcommit_memory", setting);
    fake::advance_clock(1'000'000);
    return purge_way();
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(way_a_second_later("2\n"), PurgeWay::kReplace);
    EXPECT_EQ(way_a_second_later("0\n"), PurgeWay::kAdvise);
    EXPECT_EQ(way_a_second_later("2\n"), PurgeWay::kReplace);
    EXPECT_EQ(way_a_second_later("1\n"), PurgeWay::kAdvise);
  }
  fake::forget_files();
  fake::advance_clock(1'000'000);
}

TEST(Overcommit, WhatAPrivilegedProcessReadsDoesNotMatter) {
  fake::set_file("/proc/sys/vm/overcommit_memory", "0\n");
  note_privilege(true);
  fake::advance_clock(1'000'000);
  EXPECT_EQ(purge_way(), PurgeWay::kReplace);
  note_privilege(false);
  fake::advance_clock(1'000'000);
  EXPECT_EQ(purge_way(), PurgeWay::kAdvise);
  fake::forget_files();
  fake::advance_clock(1'000'000);
}

}  // namespace
}  // namespace arenite::os
