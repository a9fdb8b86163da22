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

// One round of traffic that takes back at once what has just been purged.
void regret(PurgeRule* rule, std::uint64_t now) {
  rule->add_slack(2000);
  rule->note_given(2000);
  rule->note_purge(now);
  rule->note_taken(2000);
}

TEST(PurgeRule, RegretDoublesTheBoundUpToALimitAndTimeHalvesIt) {
  PurgeRule rule;
  rule.note_taken(3000);
  std::uint64_t now = 100 * kSecond;
  for (int round = 0; round < 3; ++round) regret(&rule, now += kSecond / 10);
  // The first purge had none before it to regret.
  rule.add_slack(4000);
  EXPECT_FALSE(rule.is_due(kBound)) << "four times the floor";
  rule.add_slack(1);
  EXPECT_TRUE(rule.is_due(kBound));
  for (int round = 0; round < 30; ++round) regret(&rule, now += kSecond / 10);
  rule.remove_slack(SIZE_MAX);
  rule.add_slack(64 * 1000 + 1);
  EXPECT_TRUE(rule.is_due(kBound)) << "at most 64 times";
  rule.note_purge(now += 10 * kSecond);
  rule.add_slack(1001);
  EXPECT_TRUE(rule.is_due(kBound)) << "as at the start after some quiet seconds";
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
