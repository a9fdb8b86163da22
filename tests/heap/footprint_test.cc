#include "heap/footprint.h"

#include <gtest/gtest.h>

#include "base/bits.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/heap.h"
#include "heap/large_mappings.h"
#include "heap/purging.h"
#include "policy/options.h"

namespace arenite {
namespace {

constexpr GrowthRule kGrowth{.reservation = kHeapSize, .pad = 0};

class FootprintTest : public ::testing::Test {
 protected:
  const fake::FreshProcess process_;
};

TEST_F(FootprintTest, IsTheDirtyUnitsAndTheLargeMappings) {
  Heap* const heap = Heap::create(HeapKind::kRuns, {1}, {100}, kGrowth);
  EXPECT_EQ(footprint.bytes(), 0U);
  const TakenUnits first = heap->take_units({10}, {1}, &kGrowth);
  const TakenUnits second = heap->take_units({20}, {1}, &kGrowth);
  heap->take_units({1}, {1}, &kGrowth);
  EXPECT_EQ(footprint.bytes(), 31 * kUnitSize);
  heap->give_units(first.range);
  EXPECT_EQ(footprint.bytes(), 31 * kUnitSize) << "free, but dirty";
  heap->take_units({10}, {1}, nullptr);
  EXPECT_EQ(footprint.bytes(), 31 * kUnitSize) << "not twice";
  heap->give_units(second.range);
  purge_free_units(*heap, 1);
  EXPECT_EQ(footprint.bytes(), 11 * kUnitSize);

  void* mapping = large_mappings.take(1_MiB, 1);
  EXPECT_EQ(footprint.bytes(), 11 * kUnitSize + 1_MiB);
  mapping = large_mappings.resize(mapping, 3_MiB);
  EXPECT_EQ(footprint.bytes(), 11 * kUnitSize + 3_MiB);
  mapping = large_mappings.resize(mapping, 2_MiB);
  EXPECT_EQ(footprint.bytes(), 11 * kUnitSize + 2_MiB);
  large_mappings.give(mapping);
  EXPECT_EQ(footprint.bytes(), 11 * kUnitSize);
}

// With the n-th call to the system refused, for every n: what failed is not counted.
TEST_F(FootprintTest, FailuresAreNotCounted) {
  for (std::size_t n = 1;; ++n) {
    fake::fail_call(n);
    const std::size_t before = footprint.bytes();
    void* const mapping = large_mappings.take(1_MiB, 1);
    void* const longer = mapping == nullptr ? nullptr : large_mappings.resize(mapping, 64_MiB);
    EXPECT_EQ(footprint.bytes() - before, mapping == nullptr ? 0 : longer == nullptr ? 1_MiB : 64_MiB) << n;
    large_mappings.give(longer != nullptr ? longer : mapping);
    EXPECT_EQ(footprint.bytes(), before);
    const bool refused = fake::refused();
    fake::allow_all();
    if (!refused) break;
  }
}

TEST_F(FootprintTest, NothingIsTakenAboveTheHardLimit) {
  options.set(OptionIndex::hard_limit, 1_MiB);
  options.set(OptionIndex::limit_reserve, 256_KiB);
  EXPECT_FALSE(footprint.add(768_KiB + 1));
  EXPECT_TRUE(footprint.add(768_KiB));
  EXPECT_FALSE(footprint.add(1));
  EXPECT_FALSE(footprint.add(SIZE_MAX));
  EXPECT_EQ(footprint.bytes(), 768_KiB);
  footprint.note_refusal();
  EXPECT_FALSE(footprint.add(256_KiB + 1));
  EXPECT_TRUE(footprint.add(256_KiB)) << "the reserve, once a request has failed";
  EXPECT_FALSE(footprint.add(1));
  footprint.remove(512_KiB - 1);
  EXPECT_TRUE(footprint.add(512_KiB - 1)) << "still open";
  footprint.remove(512_KiB);
  EXPECT_FALSE(footprint.add(256_KiB + 1)) << "closed again";
  EXPECT_TRUE(footprint.add(256_KiB));
}

TEST_F(FootprintTest, AReserveLargerThanTheLimitLeavesNothing) {
  options.set(OptionIndex::hard_limit, 1_MiB);
  options.set(OptionIndex::limit_reserve, 2_MiB);
  EXPECT_FALSE(footprint.add(1));
  footprint.note_refusal();
  EXPECT_TRUE(footprint.add(1_MiB));
}

}  // namespace
}  // namespace arenite
