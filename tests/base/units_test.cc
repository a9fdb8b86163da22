#include "base/units.h"

#include <gtest/gtest.h>

#include <concepts>

namespace arenite {
namespace {

// What must not compile is what the types are for.
template <typename A, typename B>
concept CanAdd = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept CanSubtract = requires(A a, B b) {
  a - b;
};
template <typename A, typename B>
concept CanCompare = requires(A a, B b) {
  a < b;
};

static_assert(!CanAdd<UnitIndex, UnitIndex>);
static_assert(!CanAdd<UnitCount, UnitIndex>);
static_assert(!CanSubtract<UnitCount, UnitIndex>);
static_assert(!CanCompare<UnitIndex, UnitCount>);
static_assert(!CanCompare<ClassIndex, ArenaId>);
static_assert(!std::convertible_to<int, UnitCount>);

TEST(Units, IndicesAndCountsKeepTheirKinds) {
  constexpr UnitIndex kFirst{10};
  constexpr UnitCount kFive{5};
  static_assert(std::same_as<decltype(kFirst + kFive), UnitIndex>);
  static_assert(std::same_as<decltype(kFirst - kFive), UnitIndex>);
  static_assert(std::same_as<decltype(kFirst - kFirst), UnitCount>);
  EXPECT_EQ(kFirst + kFive, UnitIndex{15});
  EXPECT_EQ(kFirst - kFive, UnitIndex{5});
  EXPECT_EQ(UnitIndex{15} - kFirst, kFive);
  EXPECT_EQ(kFive + kFive, UnitCount{10});
  EXPECT_EQ(kFive - UnitCount{2}, UnitCount{3});
  EXPECT_LT(kFirst, UnitIndex{11});
}

TEST(Units, ARangeEndsBehindItsLastUnit) {
  constexpr UnitRange kRange{.first = {10}, .count = {5}};
  EXPECT_EQ(kRange.end(), UnitIndex{15});
}

}  // namespace
}  // namespace arenite
