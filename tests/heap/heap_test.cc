#include "heap/heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "fake/file.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/heap_table.h"
#include "heap/purging.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {
namespace {

constexpr os::PurgeWay kBothWays[] = {os::PurgeWay::kAdvise, os::PurgeWay::kReplace};

constexpr ArenaId kOwner{5};

// A heap of runs as its arena uses it, beside a plain model: which units are taken, and what has been written to each.
class ModelledHeap {
 public:
  explicit ModelledHeap(Heap* heap) : heap_(heap), used_(kUnitsPerHeap), pattern_(kUnitsPerHeap) {}

  // False if the heap could not serve.
  bool take(std::uint32_t count, std::uint32_t alignment, const GrowthRule* growth) {
    const TakenUnits taken = heap_->take_units({count}, {alignment}, growth);
    if (taken.range.count.value == 0) return false;
    EXPECT_EQ(taken.range.count.value, count);
    EXPECT_EQ(taken.range.first.value % alignment, 0U);
    enter(taken.range);
    if ((taken.dirty == 0)) expect_zero(taken.range);
    write(taken.range);
    runs_[taken.range.first.value] = count;
    open(taken.range);
    return true;
  }

  void give(std::uint32_t first) {
    const UnitRange range{.first = {first}, .count = {runs_.at(first)}};
    check_pattern(range);
    heap_->span_at(range.first) = Span{};
    for (std::uint32_t unit = first; unit < range.end().value; ++unit) used_[unit] = false;
    heap_->give_units(range);
    runs_.erase(first);
  }

  bool extend(std::uint32_t first, std::uint32_t more, const GrowthRule* growth) {
    const UnitRange range{.first = {first}, .count = {runs_.at(first)}};
    if (heap_->extend_units(range, {more}, growth).range.count.value == 0) return false;
    check_pattern(range);
    enter({.first = range.end(), .count = {more}});
    write({.first = range.end(), .count = {more}});
    runs_[first] += more;
    open({.first = {first}, .count = {runs_[first]}});
    return true;
  }

  void shrink(std::uint32_t first, std::uint32_t count) {
    const UnitRange rest{.first = UnitIndex{first} + UnitCount{count}, .count = {runs_.at(first) - count}};
    runs_[first] = count;
    open({.first = {first}, .count = {count}});
    for (std::uint32_t unit = rest.first.value; unit < rest.end().value; ++unit) used_[unit] = false;
    heap_->give_units(rest);
  }

  // Whether a run of `count` free units at a multiple of `alignment` lies below the top, by the plain model.
  bool has_room_below_top(std::uint32_t count, std::uint32_t alignment) const {
    std::uint32_t top = first_unit_of(heap_->kind()).value;
    if (!runs_.empty()) top = runs_.rbegin()->first + runs_.rbegin()->second;
    const std::uint32_t first = first_unit_of(heap_->kind()).value;
    for (std::uint32_t start = (first + alignment - 1) / alignment * alignment; start + count <= top;
         start += alignment) {
      std::uint32_t unit = start;
      while (unit < start + count && !used_[unit]) ++unit;
      if (unit == start + count) return true;
    }
    return false;
  }

  void check() {
    heap_->check_invariants();
    const HeapFigures figures = heap_->figures();
    std::size_t used = 0;
    for (const auto& [first, count] : runs_) used += count * kUnitSize;
    EXPECT_EQ(used + figures.free_units + figures.top, figures.grown);
    std::size_t seen = 0;
    heap_->for_each_span([&](UnitIndex first) {
      ++seen;
      EXPECT_EQ(runs_.count(first.value), 1U);
    });
    EXPECT_EQ(seen, runs_.size());
  }

  void check_patterns() {
    for (const auto& [first, count] : runs_) check_pattern({.first = {first}, .count = {count}});
  }

  const std::map<std::uint32_t, std::uint32_t>& runs() const { return runs_; }

 private:
  std::uint64_t* memory_of(UnitIndex unit) const {
    return static_cast<std::uint64_t*>(pointer_at(heap_->address_of_unit(unit)));
  }

  void enter(UnitRange range) {
    EXPECT_GE(range.first, first_unit_of(heap_->kind()));
    EXPECT_LE(range.end().value, kUnitsPerHeap);
    for (std::uint32_t unit = range.first.value; unit < range.end().value; ++unit) {
      EXPECT_FALSE(used_[unit]) << "unit " << unit << " is handed out twice";
      used_[unit] = true;
    }
  }
  void open(UnitRange range) {
    Span& span = heap_->span_at(range.first);
    span = Span{};
    span.cls = kRunClass;
    span.units = static_cast<std::uint16_t>(range.count.value);
  }
  void expect_zero(UnitRange range) const {
    for (std::uint32_t unit = range.first.value; unit < range.end().value; ++unit) {
      const std::uint64_t* const words = memory_of({unit});
      for (std::size_t word = 0; word < kUnitSize / 8; word += 64) {
        ASSERT_EQ(words[word], 0U) << "unit " << unit << " is not zero as claimed";
      }
    }
  }
  // Each unit is written in each 512 bytes, so in each page.
  void write(UnitRange range) {
    for (std::uint32_t unit = range.first.value; unit < range.end().value; ++unit) {
      pattern_[unit] = ++last_pattern_;
      std::uint64_t* const words = memory_of({unit});
      for (std::size_t word = 0; word < kUnitSize / 8; word += 64) words[word] = last_pattern_;
    }
  }
  void check_pattern(UnitRange range) const {
    for (std::uint32_t unit = range.first.value; unit < range.end().value; ++unit) {
      const std::uint64_t* const words = memory_of({unit});
      for (std::size_t word = 0; word < kUnitSize / 8; word += 64) ASSERT_EQ(words[word], pattern_[unit]) << unit;
    }
  }

  Heap* heap_;
  std::vector<bool> used_;
  std::vector<std::uint64_t> pattern_;
  std::uint64_t last_pattern_ = 0;
  std::map<std::uint32_t, std::uint32_t> runs_;  // first unit -> count
};

class HeapTest : public ::testing::Test {
 protected:
  Heap* create(HeapKind kind = HeapKind::kRuns, std::size_t reservation = kHeapSize, std::uint32_t capacity = 1) {
    return Heap::create(kind, kOwner, {capacity}, {.reservation = reservation, .pad = 0});
  }

  static constexpr GrowthRule kNoPad{.reservation = kHeapSize, .pad = 0};
  const fake::FreshProcess process_;
};

TEST_F(HeapTest, ANewHeapIsKnownAndEmpty) {
  for (const HeapKind kind : {HeapKind::kGranule16, HeapKind::kGranule64, HeapKind::kGranule256, HeapKind::kRuns}) {
    Heap* const heap = create(kind);
    ASSERT_NE(heap, nullptr);
    heap->check_invariants();
    EXPECT_TRUE(is_aligned(address_of(heap), kHeapSize));
    EXPECT_EQ(lookup_heap(heap).arena(), kOwner);
    EXPECT_EQ(lookup_heap(heap).granule_bits(), granule_bits(kind));
    EXPECT_EQ(&Heap::of(pointer_at(address_of(heap) + kHeapSize - 1)), heap);
    const HeapFigures figures = heap->figures();
    EXPECT_EQ(figures.reserved, kMostReserved);
    EXPECT_TRUE(heap->is_whole(kOwner));
    EXPECT_FALSE(heap->is_whole({kOwner.value + 1}));
    EXPECT_EQ(figures.grown, 0U);
    EXPECT_EQ(figures.top, 0U);
    // The whole map reads as zero, whatever the heap has grown to; the guard in front of the units is no memory.
    for (std::size_t granule = 0; granule < map_bytes(kind); granule += 1000)
      EXPECT_TRUE(heap->map().get(granule).is_none());
    const UnitIndex first = first_unit_of(kind);
    EXPECT_FALSE(fake::is_usable(pointer_at(heap->address_of_unit(first) - kMaxPageSize), kMaxPageSize));
    EXPECT_GE(heap->address_of_unit(first) - kMaxPageSize, address_of(heap) + kGranuleMapOffset + map_bytes(kind));
  }
}

TEST_F(HeapTest, ADestroyedHeapLeavesNothing) {
  const std::size_t before = fake::mapped_bytes();
  Heap* const heap = create();
  ModelledHeap model(heap);
  ASSERT_TRUE(model.take(4, 1, &kNoPad));
  model.give(model.runs().begin()->first);
  fake::fail_all(fake::Call::kRelease);
  EXPECT_FALSE(heap->destroy());
  fake::allow_all();
  EXPECT_TRUE(lookup_heap(heap).is_heap()) << "refused, so it is as it was";
  model.check();
  EXPECT_TRUE(heap->destroy());
  EXPECT_EQ(fake::mapped_bytes(), before);
  EXPECT_FALSE(lookup_heap(heap).is_heap());
}

TEST_F(HeapTest, NothingOfTheProgramsLiesNextToTheHeader) {
  for (int i = 0; i < 3; ++i) {  // in windows that follow each other
    Heap* const heap = create();
    void* const below = pointer_at(address_of(heap) - kHeadGuard);
    EXPECT_FALSE(fake::is_usable(below, kHeadGuard));
    EXPECT_FALSE(os::reserve_at(below, kHeadGuard)) << "nobody else gets it";
    const TakenUnits all = heap->take_units(heap_capacity(HeapKind::kRuns), {1}, &kNoPad);
    EXPECT_EQ(all.range.count, heap_capacity(HeapKind::kRuns));
  }
}

TEST_F(HeapTest, AddressesAndGranulesGoBothWays) {
  Heap* const heap = create(HeapKind::kGranule64);
  const std::uintptr_t address = heap->address_of_unit({1000});
  EXPECT_EQ(heap->unit_of(pointer_at(address)), UnitIndex{1000});
  EXPECT_EQ(heap->unit_of(pointer_at(address + kUnitSize - 1)), UnitIndex{1000});
  EXPECT_EQ(heap->address_of_granule(heap->granule_of(pointer_at(address + 640))), address + 640);
  EXPECT_EQ(heap->granule_of(pointer_at(address + 640)), heap->granule_of(pointer_at(address)) + 10);
  EXPECT_TRUE(heap->owns_class(class_for(300)));
  EXPECT_FALSE(heap->owns_class(class_for(256)));
  EXPECT_FALSE(heap->owns_class(class_for(1025)));
  EXPECT_FALSE(heap->owns_class({0}));
  EXPECT_FALSE(heap->owns_class(kRunClass));
}

TEST_F(HeapTest, MemoryComesInOrderOfAddressAndIsUsable) {
  Heap* const heap = create();
  const UnitIndex first = first_unit_of(HeapKind::kRuns);
  for (std::uint32_t unit = 0; unit < 20; ++unit) {
    const TakenUnits taken = heap->take_units({1}, {1}, &kNoPad);
    EXPECT_EQ(taken.range.first, first + UnitCount{unit});
    EXPECT_TRUE((taken.dirty == 0));
    EXPECT_TRUE(fake::is_usable(pointer_at(heap->address_of_unit(taken.range.first)), kUnitSize));
  }
}

TEST_F(HeapTest, WithoutGrowthOnlyWhatIsReadyIsGiven) {
  Heap* const heap = create();
  const std::size_t calls = fake::calls();
  EXPECT_EQ(heap->take_units({1}, {1}, nullptr).range.count.value, 0U);
  EXPECT_EQ(fake::calls(), calls);
  const GrowthRule padded{.reservation = kHeapSize, .pad = 10 * kUnitSize};
  ASSERT_EQ(heap->take_units({1}, {1}, &padded).range.count.value, 1U);
  const std::size_t calls_after = fake::calls();
  EXPECT_EQ(heap->take_units({10}, {1}, nullptr).range.count.value, 10U);
  EXPECT_EQ(fake::calls(), calls_after);
}

TEST_F(HeapTest, AHeapIsUsedToItsLastUnit) {
  Heap* const heap = create();
  const UnitCount all = heap_capacity(HeapKind::kRuns);
  EXPECT_EQ(heap->take_units(all + UnitCount{1}, {1}, &kNoPad).range.count.value, 0U);
  const TakenUnits taken = heap->take_units(all, {1}, &kNoPad);
  ASSERT_EQ(taken.range.count, all);
  EXPECT_EQ(taken.range.end(), kHeapEnd);
  std::memset(pointer_at(heap->address_of_unit(kHeapEnd - UnitCount{1})), 1, kUnitSize);
  EXPECT_EQ(heap->take_units({1}, {1}, &kNoPad).range.count.value, 0U);
  heap->give_units(taken.range);
  heap->check_invariants();
  EXPECT_EQ(heap->figures().top, all.value * kUnitSize);
}

TEST_F(HeapTest, TheLowestFittingRunIsTaken) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(model.take(4, 1, &kNoPad));
  model.give(first + 4);
  model.give(first + 12);
  model.give(first + 16);
  ASSERT_TRUE(model.take(6, 1, &kNoPad));
  EXPECT_EQ(model.runs().count(first + 12), 1U) << "four units do not do, the merged eight do";
  ASSERT_TRUE(model.take(3, 1, &kNoPad));
  EXPECT_EQ(model.runs().count(first + 4), 1U);
  model.check();
}

TEST_F(HeapTest, WhatAnAlignedRunSkipsIsNotLost) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  ASSERT_TRUE(model.take(1, 1, &kNoPad));
  ASSERT_TRUE(model.take(2, 64, &kNoPad));
  model.check();
  EXPECT_EQ(heap->figures().free_unit_runs, 1U);
  const std::size_t grown = heap->figures().grown;
  while (model.has_room_below_top(1, 1)) ASSERT_TRUE(model.take(1, 1, nullptr));
  EXPECT_EQ(heap->figures().grown, grown);
}

TEST_F(HeapTest, TheTopSinksBelowAllFreeRuns) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(model.take(2, 1, &kNoPad));
  model.give(first + 2);
  model.give(first + 4);
  model.give(first + 6);
  model.check();
  EXPECT_EQ(heap->figures().free_units, 0U);
  EXPECT_EQ(heap->figures().top, heap->figures().grown - 2 * kUnitSize);
  model.give(first);
  EXPECT_EQ(heap->figures().top, heap->figures().grown);
}

TEST_F(HeapTest, ExtendingNeedsFreeUnitsBehind) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(model.take(4, 1, &kNoPad));
  EXPECT_FALSE(model.extend(first, 1, &kNoPad));
  model.give(first + 4);
  EXPECT_FALSE(model.extend(first, 5, &kNoPad));
  EXPECT_TRUE(model.extend(first, 3, nullptr));
  EXPECT_TRUE(model.extend(first, 1, nullptr));
  EXPECT_FALSE(model.extend(first, 1, &kNoPad));
  EXPECT_TRUE(model.extend(first + 8, 100, &kNoPad)) << "at the top the heap grows";
  EXPECT_FALSE(model.extend(first + 8, kUnitsPerHeap, &kNoPad));
  model.check();
}

TEST_F(HeapTest, GrowthIsPaddedAndCountsAsObtained) {
  Heap* const heap = create();
  const GrowthRule padded{.reservation = kHeapSize, .pad = 128_KiB};
  heap->take_units({1}, {1}, &padded);
  EXPECT_GE(heap->figures().top, 128_KiB);
  EXPECT_LT(heap->figures().top, 128_KiB + kMaxPageSize);
  EXPECT_GE(heap->figures().committed, heap->figures().grown);
  for (const std::size_t pad : {kHeapSize, SIZE_MAX}) {
    Heap* const other = create();
    const GrowthRule huge{.reservation = kHeapSize, .pad = pad};
    ModelledHeap model(other);
    EXPECT_TRUE(model.take(1, 1, &huge));
    EXPECT_EQ(other->figures().reserved, kMostReserved);
    model.check();
  }
}

TEST_F(HeapTest, ALargePadThatCannotBeHadIsDoneWithout) {
  Heap* const heap = create();
  fake::limit_usable(fake::usable_bytes() + 2 * kMaxPageSize);
  const GrowthRule padded{.reservation = kHeapSize, .pad = 8_MiB};
  ModelledHeap model(heap);
  EXPECT_TRUE(model.take(1, 1, &padded));
  model.check();
}

TEST_F(HeapTest, BuildingUpALargeHeapCostsFewCalls) {
  Heap* const heap = create();
  const std::size_t calls = fake::calls();
  while (heap->take_units({1}, {1}, &kNoPad).range.count.value != 0) {
  }
  EXPECT_LT(fake::calls() - calls, 100U);
}

TEST_F(HeapTest, AReservationThatFailsIsTriedSmaller) {
  fake::limit_mapped(5_MiB);
  Heap* const heap = create();
  ASSERT_NE(heap, nullptr);
  EXPECT_LE(heap->figures().reserved, 5_MiB);
  EXPECT_GT(heap->figures().reserved, 2_MiB) << "by halves, not at once to the least";
  EXPECT_EQ(heap->take_units({1}, {1}, &kNoPad).range.count.value, 1U);
}

TEST_F(HeapTest, TheLeastReservationIsWhatIsNeeded) {
  for (const std::uint32_t needed : {1U, 7U, 100U, heap_capacity(HeapKind::kRuns).value}) {
    const std::size_t before = fake::mapped_bytes();
    Heap* const heap = create(HeapKind::kRuns, 0, needed);
    ASSERT_NE(heap, nullptr);
    EXPECT_LE(fake::mapped_bytes() - before,
              align_up((first_unit_of(HeapKind::kRuns).value + needed) * kUnitSize, kMaxPageSize) + kHeadGuard);
    ModelledHeap model(heap);
    EXPECT_TRUE(model.take(needed, 1, &kNoPad));
    model.check();
  }
  EXPECT_EQ(create(HeapKind::kRuns, 0, heap_capacity(HeapKind::kRuns).value + 1), nullptr);
}

TEST_F(HeapTest, ASmallReservationGrowsInPlace) {
  Heap* const heap = create(HeapKind::kRuns, 0, 4);
  ModelledHeap model(heap);
  ASSERT_TRUE(model.take(4, 1, &kNoPad));
  ASSERT_TRUE(model.take(200, 1, &kNoPad));
  model.check();
  EXPECT_GT(heap->figures().reserved, 200 * kUnitSize);
  // Until something else stands there.
  const std::uintptr_t end = address_of(heap) + heap->figures().reserved;
  if (end < address_of(heap) + kHeapSize) {
    fake::place_next(end);
    void* const in_the_way = os::map(64_KiB, 4_KiB);
    ASSERT_EQ(address_of(in_the_way), end);
  } else {
    trim_top(*heap, {.threshold = 0, .pad = 0}, os::PurgeWay::kReplace);
    heap->release_reservation();
    fake::place_next(address_of(heap) + heap->figures().reserved + 256_KiB);
    ASSERT_NE(os::map(64_KiB, 4_KiB), nullptr);
  }
  EXPECT_FALSE(model.take(3000, 1, &kNoPad));
  model.check();
  model.check_patterns();
}

// A heap grows up to what stands behind its small reservation, not only if there is room for the whole rest of a heap.
TEST_F(HeapTest, ASmallReservationGrowsUpToWhatIsInTheWay) {
  Heap* const heap = create(HeapKind::kRuns, 0, 4);
  ModelledHeap model(heap);
  ASSERT_TRUE(model.take(4, 1, &kNoPad));
  fake::place_next(address_of(heap) + 32_MiB);
  ASSERT_NE(os::map(64_KiB, 4_KiB), nullptr);
  EXPECT_TRUE(model.take(200, 1, &kNoPad));
  EXPECT_FALSE(model.take(2000, 1, &kNoPad));
  model.check();
}

TEST_F(HeapTest, ReleasedAddressSpaceIsOnlyWhatWasNeverUsed) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  ASSERT_TRUE(model.take(10, 1, &kNoPad));
  const std::size_t before = fake::mapped_bytes();
  const std::size_t released = heap->release_reservation();
  EXPECT_GT(released, kHeapSize / 2);
  EXPECT_EQ(fake::mapped_bytes(), before - released);
  EXPECT_EQ(heap->release_reservation(), 0U);
  model.check();
  model.check_patterns();
  EXPECT_TRUE(heap->reserves(pointer_at(heap->address_of_unit(first_unit_of(HeapKind::kRuns)))));
  EXPECT_FALSE(heap->reserves(pointer_at(address_of(heap) + kHeapSize - 1)));
  ASSERT_TRUE(model.take(100, 1, &kNoPad)) << "it grows again";
  model.check();
}

TEST_F(HeapTest, ReleasedAddressSpaceTakesItsMapWithIt) {
  Heap* const heap = create(HeapKind::kGranule16, 0, 1);
  const std::size_t before = fake::usable_bytes();
  const UnitCount many{2000};
  const TakenUnits taken = heap->take_units(many, {1}, &kNoPad);
  ASSERT_EQ(taken.range.count, many);
  heap->map().set(many.value * kUnitSize >> granule_bits(HeapKind::kGranule16), GranuleByte::live({1}));
  heap->map().erase(many.value * kUnitSize >> granule_bits(HeapKind::kGranule16), 1);
  heap->give_units(taken.range);
  EXPECT_GT(heap->release_reservation(), many.value * kUnitSize);
  EXPECT_LT(fake::usable_bytes(), before + 2 * kMaxPageSize);
  EXPECT_EQ(heap->take_units(many, {1}, &kNoPad).range.count, many) << "it grows again";
  heap->map().set(many.value * kUnitSize >> granule_bits(HeapKind::kGranule16), GranuleByte::live({1}));
}

TEST_F(HeapTest, TrimmingGivesBackAllButThePadAndKeepsTheRest) {
  for (const os::PurgeWay way : kBothWays) {
    Heap* const heap = create();
    ModelledHeap model(heap);
    ASSERT_TRUE(model.take(3, 1, &kNoPad));
    ASSERT_TRUE(model.take(100, 1, &kNoPad));
    model.give(model.runs().rbegin()->first);
    const std::size_t top = heap->figures().top;
    EXPECT_EQ(trim_top(*heap, {.threshold = top + 1, .pad = 0}, way), 0U);
    EXPECT_EQ(heap->figures().top, top);
    EXPECT_GT(trim_top(*heap, {.threshold = top, .pad = 256_KiB}, way), 1_MiB);
    EXPECT_GE(heap->figures().top, 256_KiB);
    EXPECT_LE(heap->figures().top, 256_KiB + 2 * kUnitSize);
    EXPECT_EQ(trim_top(*heap, {.threshold = 0, .pad = SIZE_MAX}, way), 0U);
    model.check();
    model.check_patterns();
    const std::size_t usable = fake::usable_bytes();
    ASSERT_TRUE(model.take(100, 1, &kNoPad)) << "and it comes again, zeroed where it says so";
    if (way == os::PurgeWay::kReplace) {
      EXPECT_GT(fake::usable_bytes(), usable);
    }
    model.check();
  }
}

TEST_F(HeapTest, WhatTheSystemWillNotTakeBackIsNotCalledZero) {
  for (const os::PurgeWay way : kBothWays) {
    Heap* const heap = create();
    ModelledHeap model(heap);
    ASSERT_TRUE(model.take(100, 1, &kNoPad));
    model.give(model.runs().rbegin()->first);
    fake::fail_all(way == os::PurgeWay::kReplace ? fake::Call::kDecommit : fake::Call::kPurge);
    EXPECT_EQ(trim_top(*heap, {.threshold = 0, .pad = 0}, way), 0U);
    fake::allow_all();
    model.check();
    ASSERT_TRUE(model.take(100, 1, &kNoPad));
    model.check();
  }
}

// Pages that the system would not take at one trim are given back at the next.
TEST_F(HeapTest, WhatTheSystemWillNotTakeBackIsOfferedAgain) {
  for (const os::PurgeWay way : kBothWays) {
    Heap* const heap = create();
    ModelledHeap model(heap);
    ASSERT_TRUE(model.take(100, 1, &kNoPad));
    model.give(model.runs().rbegin()->first);
    fake::fail_call(1);
    EXPECT_EQ(trim_top(*heap, {.threshold = 0, .pad = 0}, way), 0U);
    ASSERT_TRUE(fake::refused());
    EXPECT_GT(trim_top(*heap, {.threshold = 0, .pad = 0}, way), 1_MiB)
        << (way == os::PurgeWay::kReplace ? "replace" : "advise");
    model.check();
  }
}

TEST_F(HeapTest, FreeUnitsInsideArePurgedAndReadAsZero) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(model.take(10, 1, &kNoPad));
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  for (std::uint32_t run = 0; run < 9; run += 2) model.give(first + 10 * run);
  EXPECT_EQ(purge_free_units(*heap, 10 * kUnitSize + 1), 0U) << "all pieces are shorter";
  EXPECT_EQ(purge_free_units(*heap, 10 * kUnitSize), 50 * kUnitSize);
  EXPECT_EQ(purge_free_units(*heap, 1), 0U) << "once";
  model.check();
  model.check_patterns();
  const TakenUnits taken = heap->take_units({10}, {1}, nullptr);
  EXPECT_TRUE((taken.dirty == 0));
  fake::fail_all(fake::Call::kPurge);
  heap->give_units(taken.range);
  EXPECT_EQ(purge_free_units(*heap, 1), 0U);
  fake::allow_all();
  EXPECT_EQ(purge_free_units(*heap, 1), 10 * kUnitSize) << "again after a refusal";
}

TEST_F(HeapTest, WhatIsHeldIsNotTakenUntilItIsFreeAgain) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(model.take(10, 1, &kNoPad));
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  model.give(first + 10);
  model.give(first + 30);  // the top
  PurgeBatch batch;
  std::size_t left = 0;
  EXPECT_EQ(heap->hold_units({first}, 1, &batch, &left), kHeapEnd);
  EXPECT_EQ(heap->hold_top({first}, 1, &batch, &left), kHeapEnd);
  heap->check_invariants();
  EXPECT_EQ(heap->take_units({10}, {1}, nullptr).range.count.value, 0U);
  EXPECT_EQ(heap->extend_units({.first = {first}, .count = {10}}, {5}, nullptr).range.count.value, 0U);
  EXPECT_EQ(finish_purge(batch, os::PurgeWay::kAdvise), 20 * kUnitSize);
  model.check();
  EXPECT_EQ(heap->take_units({10}, {1}, nullptr).range.first.value, first + 10);
  EXPECT_EQ(heap->take_units({10}, {1}, nullptr).range.first.value, first + 30);
}

// As in a forked child, where the thread that held it is gone.
TEST_F(HeapTest, WhatIsHeldIsFoundAndFreeAgain) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(model.take(10, 1, &kNoPad));
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  for (const std::uint32_t run : {1U, 3U, 5U}) model.give(first + 10 * run);
  PurgeBatch batch;
  std::size_t left = 0;
  heap->hold_units({first}, 1, &batch, &left);
  heap->hold_top({first}, 1, &batch, &left);
  std::size_t held = 0;
  for (UnitRange range; (range = heap->find_held()).count.value != 0; held += range.count.value) heap->end_hold(range);
  EXPECT_EQ(held, 30U);
  model.check();
}

// More pieces than a batch has room for, in one run and in many.
TEST_F(HeapTest, ManyPiecesComeInSeveralBatches) {
  Heap* const heap = create();
  ModelledHeap model(heap);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(model.take(1, 1, &kNoPad));
  const std::uint32_t first = first_unit_of(HeapKind::kRuns).value;
  for (std::uint32_t unit = 0; unit < 398; unit += 2) model.give(first + unit);
  EXPECT_EQ(purge_free_units(*heap, 1), 199 * kUnitSize) << "in many runs";
  for (std::uint32_t unit = 1; unit < 398; unit += 2) model.give(first + unit);
  EXPECT_EQ(purge_free_units(*heap, 1), 199 * kUnitSize) << "in one run";
  EXPECT_EQ(purge_free_units(*heap, 1), 0U);
  model.check();
}

struct Case {
  HeapKind kind;
  std::size_t page_size;
  std::size_t reservation;
  std::size_t hugetlb = 0;
};

class RandomHeapTest : public ::testing::TestWithParam<Case> {
 protected:
  RandomHeapTest() {
    fake::set_page_size(GetParam().page_size);
    fake::set_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    fake::set_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
    options.set(OptionIndex::hugetlb, GetParam().hugetlb);
  }

  const fake::FreshProcess process_;
};

// One random step; the model checks what it can see. `fails`: some system calls may be refused.
void step(Heap* heap, ModelledHeap* model, std::mt19937_64& random, bool fails) {
  const GrowthRule growth{.reservation = 0, .pad = random() % 3 == 0 ? random() % 1_MiB : 0};
  const GrowthRule* const may_grow = random() % 4 == 0 ? nullptr : &growth;
  const auto count = static_cast<std::uint32_t>(1 + random() % (random() % 8 == 0 ? 200 : 12));
  const auto pick = [&] {
    auto run = model->runs().begin();
    std::advance(run, static_cast<std::ptrdiff_t>(random() % model->runs().size()));
    return run->first;
  };
  switch (random() % 12) {
    case 0:
    case 1:
    case 2:
    case 3: {
      const auto alignment = random() % 4 == 0 ? std::uint32_t{1} << (random() % 6) : 1;
      const bool room = model->has_room_below_top(count, alignment);
      const bool taken = model->take(count, alignment, may_grow);
      ASSERT_TRUE(taken || !room) << "there was room below the top";
      break;
    }
    case 4:
    case 5:
    case 6:
      if (!model->runs().empty()) model->give(pick());
      break;
    case 7:
      if (!model->runs().empty()) model->extend(pick(), count, may_grow);
      break;
    case 8:
      if (!model->runs().empty()) {
        const std::uint32_t first = pick();
        if (model->runs().at(first) > 1)
          model->shrink(first, 1 + static_cast<std::uint32_t>(random() % (model->runs().at(first) - 1)));
      }
      break;
    case 9:
      trim_top(*heap, {.threshold = random() % 2_MiB, .pad = random() % 1_MiB}, kBothWays[random() % 2]);
      break;
    case 10:
      purge_free_units(*heap, 1);
      break;
    default:
      if (random() % 4 == 0) heap->release_reservation();
      break;
  }
  ASSERT_TRUE(fails || !fake::refused());
  model->check();
}

TEST_P(RandomHeapTest, AgreesWithTheModelAfterEachStep) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::mt19937_64 random(seed);
    Heap* const heap = Heap::create(GetParam().kind, kOwner, {1}, {.reservation = GetParam().reservation, .pad = 0});
    ASSERT_NE(heap, nullptr);
    ModelledHeap model(heap);
    for (int i = 0; i < 400 && !HasFatalFailure(); ++i) step(heap, &model, random, false);
    model.check_patterns();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

TEST_P(RandomHeapTest, AnySystemCallMayFail) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::mt19937_64 random(seed);
    Heap* const heap = Heap::create(GetParam().kind, kOwner, {1}, {.reservation = GetParam().reservation, .pad = 0});
    ASSERT_NE(heap, nullptr);
    ModelledHeap model(heap);
    for (int i = 0; i < 400 && !HasFatalFailure(); ++i) {
      if (random() % 2 == 0) fake::fail_call(1 + random() % 3);
      step(heap, &model, random, true);
    }
    fake::allow_all();
    model.check_patterns();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

// Growth with the n-th call refused, for every n: nothing is half done, and the next try works.
TEST_P(RandomHeapTest, GrowthThatFailsAtAnyCallChangesNothing) {
  for (std::size_t n = 1;; ++n) {
    const std::size_t before = fake::mapped_bytes();
    fake::fail_call(n);
    Heap* const heap = Heap::create(GetParam().kind, kOwner, {1}, {.reservation = GetParam().reservation, .pad = 0});
    if (heap == nullptr) {
      EXPECT_TRUE(fake::refused());
      EXPECT_EQ(fake::mapped_bytes(), before) << "a heap that could not be made leaves nothing behind";
      fake::allow_all();
      continue;
    }
    ModelledHeap model(heap);
    const GrowthRule growth{.reservation = GetParam().reservation, .pad = 300000};
    for (int i = 0; i < 40; ++i) {
      const HeapFigures figures = heap->figures();
      if (!model.take(25, 1, &growth)) {
        EXPECT_TRUE(fake::refused());
        EXPECT_EQ(heap->figures().grown, figures.grown);
        EXPECT_EQ(heap->figures().top, figures.top);
        model.check();
        EXPECT_TRUE(model.take(25, 1, &growth));
      }
      model.check();
    }
    if (!fake::refused()) break;
    fake::allow_all();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomHeapTest,
                         ::testing::Values(Case{HeapKind::kRuns, 4_KiB, kHeapSize}, Case{HeapKind::kRuns, 4_KiB, 0},
                                           Case{HeapKind::kRuns, 16_KiB, 1_MiB},
                                           Case{HeapKind::kRuns, 64_KiB, kHeapSize}, Case{HeapKind::kRuns, 64_KiB, 0},
                                           Case{HeapKind::kRuns, 4_KiB, kHeapSize, 1},
                                           Case{HeapKind::kRuns, 4_KiB, 0, 1},
                                           Case{HeapKind::kRuns, 4_KiB, kHeapSize, 2_MiB},
                                           Case{HeapKind::kRuns, 4_KiB, 1_MiB, 2_MiB}));

}  // namespace
}  // namespace arenite
