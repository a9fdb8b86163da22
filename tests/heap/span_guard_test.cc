#include "heap/span_guard.h"

#include <gtest/gtest.h>

#include <vector>

#include "fake/file.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/heap.h"
#include "policy/options.h"

namespace arenite {
namespace {

// With guards inside of mappings, and with guards that are mappings of their own.
class SpanGuardTest : public ::testing::TestWithParam<bool> {
 protected:
  SpanGuardTest() {
    fake::have_guards(GetParam());
    heap_ = Heap::create(HeapKind::kGranule16, {3}, {16}, kGrowth);
  }

  UnitIndex take_unit() const { return heap_->take_units({1}, {1}, &kGrowth).range.first; }
  void give_unit(UnitIndex unit) const {
    heap_->give_units({.first = unit, .count = {1}});
    heap_->check_invariants();
  }
  void* start_of(UnitIndex unit) const { return pointer_at(heap_->address_of_unit(unit)); }
  bool is_usable(UnitIndex unit) const { return fake::is_usable(start_of(unit), kUnitSize); }
  static fake::Call placing() { return GetParam() ? fake::Call::kGuard : fake::Call::kDecommit; }
  static fake::Call removing() { return GetParam() ? fake::Call::kUnguard : fake::Call::kCommit; }

  static constexpr GrowthRule kGrowth{.reservation = kHeapSize, .pad = 0};
  const fake::FreshProcess process_;
  Heap* heap_ = nullptr;
};

TEST_P(SpanGuardTest, NobodyGetsInUntilItIsRemovedAndThenItIsClean) {
  const UnitIndex unit = take_unit();
  *static_cast<char*>(start_of(unit)) = 1;
  ASSERT_TRUE(place_span_guard(*heap_, unit));
  heap_->check_invariants();
  EXPECT_FALSE(is_usable(unit));
  ASSERT_TRUE(remove_span_guard(*heap_, unit));
  EXPECT_TRUE(is_usable(unit));
  EXPECT_FALSE(remove_span_guard(*heap_, unit)) << "there is none any more";
  give_unit(unit);
  const TakenUnits again = heap_->take_units({1}, {1}, nullptr);
  EXPECT_EQ(again.range.first, unit);
  EXPECT_EQ(again.dirty, 0U);
  EXPECT_EQ(*static_cast<char*>(start_of(unit)), 0);
}

TEST_P(SpanGuardTest, WhereTheSystemRefusesThereIsNone) {
  const UnitIndex unit = take_unit();
  fake::fail_all(fake::Call::kGuard);
  fake::fail_all(fake::Call::kDecommit);
  EXPECT_FALSE(place_span_guard(*heap_, unit));
  EXPECT_TRUE(is_usable(unit));
  EXPECT_FALSE(remove_span_guard(*heap_, unit));
  give_unit(unit);
}

TEST_P(SpanGuardTest, WhatTheSystemWillNotMakeUsableStays) {
  const UnitIndex unit = take_unit();
  ASSERT_TRUE(place_span_guard(*heap_, unit));
  fake::fail_all(removing());
  EXPECT_FALSE(remove_span_guard(*heap_, unit));
  heap_->check_invariants();
  fake::allow_all();
  EXPECT_TRUE(remove_span_guard(*heap_, unit));
  EXPECT_TRUE(is_usable(unit));
}

TEST_P(SpanGuardTest, BehindTheTopIsNone) { EXPECT_FALSE(remove_span_guard(*heap_, heap_->top())); }

// The kernel allows a process 65530 mappings, and each such guard splits one.
TEST_P(SpanGuardTest, ThereAreNotTooManyMappings) {
  constexpr std::size_t kTried = 20'000;
  std::vector<std::pair<Heap*, UnitIndex>> guards;
  Heap* heap = heap_;
  for (std::size_t index = 0; index < kTried; ++index) {
    TakenUnits units = heap->take_units({1}, {1}, &kGrowth);
    if (units.range.count.value == 0) {
      heap = Heap::create(HeapKind::kGranule16, {3}, {16}, kGrowth);
      units = heap->take_units({1}, {1}, &kGrowth);
    }
    if (place_span_guard(*heap, units.range.first)) guards.emplace_back(heap, units.range.first);
  }
  if (GetParam()) {
    EXPECT_EQ(guards.size(), kTried);
  } else {
    EXPECT_GT(guards.size(), 4'000U);
    EXPECT_LT(guards.size(), 16'000U);
  }
  for (const auto& [owner, unit] : guards) ASSERT_TRUE(remove_span_guard(*owner, unit));
  EXPECT_TRUE(place_span_guard(*guards[0].first, guards[0].second)) << "there is room again";
}

INSTANTIATE_TEST_SUITE_P(Ways, SpanGuardTest, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "inside" : "mapped"; });

TEST(SpanGuards, AreWantedWhereTheyFit) {
  const fake::FreshProcess process;
  EXPECT_FALSE(wants_span_guards());
  options.set(OptionIndex::harden, feature_bit(Feature::guards));
  EXPECT_TRUE(wants_span_guards());
  fake::set_page_size(64_KiB);
  EXPECT_FALSE(wants_span_guards());
  fake::set_page_size(4_KiB);
  options.set(OptionIndex::huge_heaps, 2);
  fake::set_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
  EXPECT_FALSE(wants_span_guards());
}

}  // namespace
}  // namespace arenite
