#include "heap/span.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "fake/memory.h"
#include "fake/process.h"
#include "heap/heap.h"
#include "heap/purging.h"

namespace arenite {
namespace {

class SpanTest : public ::testing::TestWithParam<unsigned> {
 protected:
  SpanTest() {
    heap_ = Heap::create(info_.kind, {3}, {info_.span_units}, kGrowth);
    const TakenUnits units = heap_->take_units({info_.span_units}, {1}, &kGrowth);
    range_ = units.range;
    open_span(*heap_, range_, cls_);
  }

  std::vector<void*> take(std::size_t want) {
    std::vector<void*> slots(want);
    slots.resize(take_slots(*heap_, range_.first, slots.data(), want));
    heap_->check_invariants();
    return slots;
  }
  bool give(void* slot) {
    const bool given = give_slot(*heap_, range_.first, slot);
    heap_->check_invariants();
    return given;
  }
  GranuleByte byte_of(void* slot) const { return heap_->map().get(heap_->granule_of(slot)); }
  std::uintptr_t slot_address(std::size_t index) const {
    return heap_->address_of_unit(range_.first) + index * info_.slot_size;
  }
  bool listed() const { return heap_->partial_spans(cls_).test(range_.first.value); }

  static constexpr GrowthRule kGrowth{.reservation = kHeapSize, .pad = 0};
  const fake::FreshProcess process_;
  const ClassIndex cls_{static_cast<std::uint8_t>(GetParam())};
  const SizeClass& info_ = size_class(cls_);
  Heap* heap_ = nullptr;
  UnitRange range_{};
};

TEST_P(SpanTest, FreshSlotsComeInOrderAndAllOfThem) {
  EXPECT_TRUE(listed());
  std::size_t index = 0;
  for (std::size_t want = 1; index < info_.slots_per_span; ++want) {
    const std::vector<void*> slots = take(want);
    EXPECT_EQ(slots.size(), std::min<std::size_t>(want, info_.slots_per_span - index));
    for (void* const slot : slots) {
      EXPECT_EQ(address_of(slot), slot_address(index++));
      EXPECT_EQ(byte_of(slot), GranuleByte::cached(cls_));
    }
    EXPECT_EQ(listed(), index < info_.slots_per_span);
  }
  EXPECT_TRUE(take(1).empty());
}

TEST_P(SpanTest, FreeSlotsComeAgainLowestFirst) {
  std::vector<void*> slots = take(info_.slots_per_span);
  std::mt19937 random(1);
  std::shuffle(slots.begin(), slots.end(), random);
  const std::size_t back = slots.size() / 2;
  for (std::size_t i = 0; i < back; ++i) {
    EXPECT_TRUE(give(slots[i]));
    EXPECT_EQ(byte_of(slots[i]), GranuleByte::free(cls_));
    EXPECT_TRUE(listed());
  }
  slots.resize(back);
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(take(back + 5), slots);
}

TEST_P(SpanTest, WhatIsNotCachedIsRefused) {
  void* const slot = take(1)[0];
  heap_->map().set(heap_->granule_of(slot), GranuleByte::live(cls_));
  EXPECT_FALSE(give(slot));
  EXPECT_EQ(byte_of(slot), GranuleByte::live(cls_));
  heap_->map().set(heap_->granule_of(slot), GranuleByte::cached(cls_));
  EXPECT_TRUE(give(slot));
  EXPECT_FALSE(give(slot)) << "free already";
  EXPECT_FALSE(give(pointer_at(slot_address(info_.slots_per_span - 1U)))) << "never carved";
}

TEST_P(SpanTest, ASpanClosesWithoutATrace) {
  for (void* const slot : take(info_.slots_per_span / 2 + 1U)) EXPECT_TRUE(give(slot));
  ASSERT_TRUE(heap_->span_at(range_.first).all_free());
  const UnitRange closed = close_span(*heap_, range_.first);
  EXPECT_EQ(closed.first, range_.first);
  EXPECT_EQ(closed.count, range_.count);
  EXPECT_FALSE(listed());
  const std::size_t first = heap_->granule_of(pointer_at(slot_address(0)));
  for (std::size_t granule = first; granule < first + ((closed.count.value * kUnitSize) >> granule_bits(info_.kind));
       ++granule) {
    ASSERT_TRUE(heap_->map().get(granule).is_none());
  }
  heap_->give_units(closed);
  heap_->check_invariants();
}

TEST_P(SpanTest, EveryUnitKnowsItsSpan) {
  for (std::uint32_t unit = 0; unit < info_.span_units; ++unit) {
    EXPECT_EQ(heap_->span_start(range_.first + UnitCount{unit}), range_.first);
  }
}

TEST_P(SpanTest, RandomTakesAndGivesAgreeWithASet) {
  std::mt19937_64 random(GetParam());
  std::set<void*> free;
  for (std::size_t index = 0; index < info_.slots_per_span; ++index) free.insert(pointer_at(slot_address(index)));
  std::vector<void*> taken;
  for (int step = 0; step < 300; ++step) {
    if (random() % 2 == 0) {
      for (void* const slot : take(random() % 20)) {
        ASSERT_EQ(slot, *free.begin()) << "lowest first: what is free is always below what is untouched";
        free.erase(free.begin());
        taken.push_back(slot);
      }
    } else {
      for (std::size_t count = random() % 20; count > 0 && !taken.empty(); --count) {
        std::swap(taken[random() % taken.size()], taken.back());
        ASSERT_TRUE(give(taken.back()));
        free.insert(taken.back());
        taken.pop_back();
      }
    }
    ASSERT_EQ(heap_->span_at(range_.first).all_free(), taken.empty());
  }
}

TEST_P(SpanTest, PurgingEmptiesTheFreeSlotsAndKeepsTheOthers) {
  for (const os::PurgeWay way : {os::PurgeWay::kAdvise, os::PurgeWay::kReplace}) {
    std::mt19937_64 random(GetParam());
    std::vector<void*> slots = take(info_.slots_per_span);
    ASSERT_EQ(slots.size(), info_.slots_per_span);
    for (void* const slot : slots) std::memset(slot, 7, info_.slot_size);
    std::vector<void*> kept;
    for (std::size_t index = 0; index < slots.size(); ++index) {
      const bool keep = index == 0 || index == slots.size() - 1;
      if (keep) {
        kept.push_back(slots[index]);
      } else {
        ASSERT_TRUE(give(slots[index]));
      }
    }
    EXPECT_GT(purge_span(*heap_, range_.first, way), 0U);
    EXPECT_EQ(purge_span(*heap_, range_.first, way), 0U) << "once";
    heap_->check_invariants();
    for (void* const slot : kept) {
      const auto* const bytes = static_cast<const unsigned char*>(slot);
      EXPECT_EQ(std::count(bytes, bytes + info_.slot_size, 7), static_cast<std::ptrdiff_t>(info_.slot_size));
      ASSERT_TRUE(give(slot));
    }
  }
}

TEST_P(SpanTest, WhatTheSystemWillNotTakeBackIsOfferedAgain) {
  std::vector<void*> slots = take(info_.slots_per_span);
  for (std::size_t index = 1; index < slots.size(); ++index) ASSERT_TRUE(give(slots[index]));
  fake::fail_all(fake::Call::kPurge);
  EXPECT_EQ(purge_span(*heap_, range_.first, os::PurgeWay::kAdvise), 0U);
  fake::allow_all();
  EXPECT_GT(purge_span(*heap_, range_.first, os::PurgeWay::kAdvise), 0U);
  heap_->check_invariants();
}

TEST_P(SpanTest, PurgedSlotsAreTakenAndWrittenAgain) {
  std::vector<void*> slots = take(info_.slots_per_span);
  for (void* const slot : slots) ASSERT_TRUE(give(slot));
  purge_span(*heap_, range_.first, os::PurgeWay::kAdvise);
  heap_->check_invariants();
  EXPECT_EQ(take(info_.slots_per_span), slots);
  for (void* const slot : slots) std::memset(slot, 7, info_.slot_size);
}

TEST_P(SpanTest, HeldSlotsAreNotTakenUntilTheyAreFreeAgain) {
  std::vector<void*> slots = take(info_.slots_per_span / 2);
  for (void* const slot : slots) ASSERT_TRUE(give(slot));
  PurgeBatch batch;
  ASSERT_TRUE(hold_slots(*heap_, range_.first, &batch));
  if (batch.empty()) return;  // less than a page
  heap_->check_invariants();
  EXPECT_TRUE(take(info_.slots_per_span).empty()) << "the untouched slots are held with the free ones";
  EXPECT_GT(finish_purge(batch, os::PurgeWay::kAdvise), 0U);
  heap_->check_invariants();
  EXPECT_EQ(take(slots.size()), slots);
  EXPECT_EQ(take(info_.slots_per_span).size(), info_.slots_per_span - slots.size());
}

INSTANTIATE_TEST_SUITE_P(Classes, SpanTest, ::testing::Values(1, 2, 3, 16, 17, 24, 25, 30, 43, 44));

}  // namespace
}  // namespace arenite
