#include "policy/hardening.h"

#include <gtest/gtest.h>

namespace arenite {
namespace {

constexpr std::size_t kUntouched = 4711;

std::size_t parsed(std::string_view text) {
  std::size_t features = kUntouched;
  return parse_features(text, &features) ? features : kUntouched;
}

TEST(Hardening, EachLevelHasTheFeaturesOfTheOneBelow) {
  for (unsigned level = 1; level <= kMostHardened; ++level) {
    EXPECT_EQ(features_of_level(level - 1) & ~features_of_level(level), 0U);
  }
  EXPECT_EQ(features_of_level(1), 0U) << "what the design gives for free is no feature";
  EXPECT_NE(features_of_level(2) & feature_bit(Feature::canary), 0U);
  EXPECT_EQ(features_of_level(2) & feature_bit(Feature::guards), 0U);
  EXPECT_EQ(features_of_level(kMostHardened), (std::size_t{1} << std::size(kFeatures)) - 1);
}

TEST(Hardening, FeaturesAreAddedAndLeftOut) {
  EXPECT_EQ(parsed("0"), 0U);
  EXPECT_EQ(parsed("2"), features_of_level(2));
  EXPECT_EQ(parsed("2,-quarantine"), features_of_level(2) & ~feature_bit(Feature::quarantine));
  EXPECT_EQ(parsed("1,+zero,+random"), feature_bit(Feature::zero) | feature_bit(Feature::random));
  EXPECT_EQ(parsed("3,-zero,+zero"), features_of_level(3));
}

TEST(Hardening, KindsNeedTheCanary) {
  EXPECT_EQ(parsed("1,+kinds"), 0U);
  EXPECT_EQ(parsed("1,+kinds,+canary"), feature_bit(Feature::kinds) | feature_bit(Feature::canary));
}

TEST(Hardening, AnythingElseIsRefused) {
  for (const char* const text : {"", "4", "-1", "x", "2,", "2,quarantine", "2,-", "2,-nothing", "2-zero", "2,-zero,",
                                 "2,+zero random", "+zero", "22"}) {
    EXPECT_EQ(parsed(text), kUntouched) << text;
  }
}

}  // namespace
}  // namespace arenite
