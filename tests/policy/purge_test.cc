#include "policy/purge.h"

#include <gtest/gtest.h>

#include "base/bits.h"

namespace arenite {
namespace {

constexpr PurgeRule::Bound kBound{.floor = 1000, .percent = 10};
constexpr std::uint64_t kSecond = 1'000'000;

TEST(PurgeRule, IsDueAboveTheFloorAndTheShare) {
  PurgeRule rule;
  rule.add_slack(1000);
  EXPECT_FALSE(rule.is_due(kBound)) << "exactly the floor";
  rule.add_slack(1);
  EXPECT_TRUE(rule.is_due(kBound));
  rule.note_taken(20'000);
  EXPECT_FALSE(rule.is_due(kBound)) << "a tenth of what is in use";
  rule.add_slack(1000);
  EXPECT_TRUE(rule.is_due(kBound));
  rule.remove_slack(1);
  EXPECT_FALSE(rule.is_due(kBound));
}

TEST(PurgeRule, NothingWraps) {
  PurgeRule rule;
  rule.add_slack(5);
  rule.remove_slack(SIZE_MAX);
  EXPECT_EQ(rule.slack(), 0U);
  EXPECT_FALSE(rule.is_due({.floor = SIZE_MAX, .percent = 1000}));
  rule.add_slack(1);
  EXPECT_TRUE(rule.is_due({.floor = 0, .percent = 0}));
}

// A purge of all that is slack, after which the traffic takes it back at once.
void purge_and_regret(PurgeRule* rule, std::size_t bytes, std::uint64_t now) {
  rule->add_slack(bytes);
  rule->note_purge(now);
  rule->note_fresh(bytes);
}

TEST(PurgeRule, TwiceWhatWasRegrettedIsToleratedUntilCalmSecondsHaveGone) {
  PurgeRule rule;
  rule.note_taken(9000);
  std::uint64_t now = 100 * kSecond;
  purge_and_regret(&rule, 2000, now);
  EXPECT_EQ(rule.limit(kBound), 1000U) << "the first purge had none before it to regret";
  purge_and_regret(&rule, 2000, ++now);
  EXPECT_EQ(rule.limit(kBound), 4000U);
  rule.add_slack(4000);
  EXPECT_FALSE(rule.is_due(kBound));
  EXPECT_TRUE(rule.is_tolerated(kBound));
  rule.add_slack(1);
  EXPECT_TRUE(rule.is_due(kBound));
  rule.remove_slack(1);
  rule.note_time(now += kSecond);
  EXPECT_TRUE(rule.is_due(kBound)) << "half of it after a second";
  rule.note_time(now += kSecond);
  EXPECT_EQ(rule.limit(kBound), 1000U) << "the floor";
}

TEST(PurgeRule, NoMoreIsToleratedThanTheHeapsEverHeld) {
  PurgeRule rule;
  rule.note_taken(3000);
  std::uint64_t now = kSecond;
  for (int round = 0; round < 20; ++round) purge_and_regret(&rule, 2000, ++now);
  EXPECT_EQ(rule.limit(kBound), 5000U);
}

// What grew long after a small purge says nothing about that purge.
TEST(PurgeRule, NoMoreIsRegrettedThanWasPurged) {
  PurgeRule rule;
  rule.add_slack(1001);
  rule.note_purge(kSecond);
  rule.note_taken(50'000);
  rule.note_fresh(50'000);
  rule.note_given(45'000);
  rule.add_slack(45'000);
  rule.note_purge(kSecond + 1);
  EXPECT_EQ(rule.limit(kBound), 2002U);
}

TEST(PurgeRule, ManySmallPurgesAreRegrettedTogether) {
  PurgeRule rule;
  std::uint64_t now = kSecond;
  for (int round = 0; round < 10; ++round) {
    rule.add_slack(2000);
    rule.note_purge(++now);
  }
  rule.note_taken(20'000);
  rule.note_fresh(20'000);
  rule.note_purge(++now);
  EXPECT_EQ(rule.limit(kBound), 20'000U) << "the most there was";
}

// Traffic that takes memory again, but such as still has its pages, has lost nothing.
TEST(PurgeRule, WhatHasItsPagesIsNotRegretted) {
  PurgeRule rule;
  std::uint64_t now = kSecond;
  for (int round = 0; round < 20; ++round) {
    rule.add_slack(2000);
    rule.note_purge(++now);
    rule.note_taken(2000);
  }
  rule.note_given(40'000);
  rule.add_slack(1001);
  EXPECT_TRUE(rule.is_due(kBound));
}

TEST(PurgeRule, ShrinkingIsNotRegretted) {
  PurgeRule rule;
  rule.note_taken(100'000);
  std::uint64_t now = kSecond;
  for (int round = 0; round < 20; ++round) {
    rule.note_given(2000);
    rule.add_slack(2000);
    rule.note_purge(++now);
  }
  rule.note_given(60'000);
  rule.add_slack(1001);
  EXPECT_TRUE(rule.is_due(kBound));
}

}  // namespace
}  // namespace arenite
