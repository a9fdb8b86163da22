#include "policy/size_classes.h"

#include <gtest/gtest.h>

#include <vector>

namespace arenite {
namespace {

std::size_t slot_size(ClassIndex cls) { return size_class(cls).slot_size; }

TEST(SizeClasses, EveryRequestFitsInTheSmallestClassThatHoldsIt) {
  for (std::size_t size = 0; size <= kMaxSlotSize; ++size) {
    const ClassIndex cls = class_for(size);
    ASSERT_GE(cls.value, 1U);
    ASSERT_LE(cls.value, kClassCount);
    ASSERT_GE(slot_size(cls), size);
    if (cls.value == 1) continue;
    ASSERT_LT(slot_size({static_cast<std::uint8_t>(cls.value - 1)}), size) << "the class below holds it, too";
  }
}

TEST(SizeClasses, AtMostAFifthIsWasted) {
  for (std::size_t size = 1; size <= kMaxSlotSize; ++size) {
    const std::size_t waste = slot_size(class_for(size)) - size;
    if (size <= kExactSlotLimit) {
      ASSERT_LT(waste, kMinSlotSize);
    } else {
      ASSERT_LE(waste * 5, slot_size(class_for(size))) << size;
    }
  }
}

TEST(SizeClasses, TheTableAgreesWithItself) {
  EXPECT_EQ(slot_size({1}), kMinSlotSize);
  EXPECT_EQ(slot_size({16}), kExactSlotLimit);
  EXPECT_EQ(slot_size({kClassCount}), kMaxSlotSize);
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const SizeClass& info = size_class({cls});
    EXPECT_EQ(info.slot_size, slot_size_of_class(cls));
    EXPECT_EQ(class_for(info.slot_size).value, cls);
    EXPECT_EQ(info.slot_size % kMinAlignment, 0U);
    EXPECT_GT(info.slot_size, slot_size_of_class(cls - 1U));
  }
  EXPECT_GT(kRunClass.value, kClassCount);
  EXPECT_LT(kRunClass.value, 64U) << "fits the class bits of a map byte";
}

TEST(SizeClasses, SlotsAreWholeGranulesOfTheirHeap) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const SizeClass& info = size_class({cls});
    EXPECT_EQ(info.slot_size % (std::size_t{1} << granule_bits(info.kind)), 0U) << info.slot_size;
    EXPECT_NE(info.kind, HeapKind::kRuns);
  }
  EXPECT_EQ(size_class(class_for(256)).kind, HeapKind::kGranule16);
  EXPECT_EQ(size_class(class_for(257)).kind, HeapKind::kGranule64);
  EXPECT_EQ(size_class(class_for(1_KiB)).kind, HeapKind::kGranule64);
  EXPECT_EQ(size_class(class_for(1_KiB + 1)).kind, HeapKind::kGranule256);
}

TEST(SizeClasses, SpansWasteLittleAndHoldEnough) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const SizeClass& info = size_class({cls});
    const std::size_t bytes = info.span_units * kUnitSize;
    const std::size_t used = std::size_t{info.slots_per_span} * info.slot_size;
    EXPECT_LE(used, bytes);
    EXPECT_LT(bytes - used, info.slot_size) << "no slot more would fit";
    EXPECT_LE((bytes - used) * 16, bytes) << info.slot_size;
    EXPECT_GE(info.slots_per_span, 8U);
    EXPECT_GE(info.span_units, 1U);
    const std::size_t granules = bytes >> granule_bits(info.kind);
    EXPECT_LE(granules, UINT16_MAX) << "scan_from and carved hold it";
  }
}

TEST(SizeClasses, MagazinesAreEvenAndHoldTheirBatches) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const SizeClass& info = size_class({cls});
    EXPECT_EQ(info.magazine_capacity % 2, 0U);
    EXPECT_GE(info.magazine_capacity, info.batch);
    EXPECT_GE(info.batch, 1U);
    EXPECT_LE(info.batch, 64U) << "what a refill takes at once";
    if (cls == 1) continue;
    const SizeClass& before = size_class({static_cast<std::uint8_t>(cls - 1)});
    EXPECT_LE(info.magazine_capacity, before.magazine_capacity);
    EXPECT_LE(info.batch, before.batch);
  }
}

TEST(SizeClasses, TheClassesOfAKindStandSideBySide) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const HeapKind kind = size_class({cls}).kind;
    EXPECT_GE(cls, first_class_of(kind));
    EXPECT_LT(cls - first_class_of(kind), kMaxClassesPerKind);
    EXPECT_LT(cls, first_class_of(static_cast<HeapKind>(static_cast<unsigned>(kind) + 1)));
  }
}

TEST(SizeClasses, AlignedRequestsGetTheSmallestClassWhoseSlotsAreAllAligned) {
  for (std::size_t alignment = 1; alignment <= kUnitSize; alignment *= 2) {
    std::vector<ClassIndex> aligned;
    for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
      if (slot_size({cls}) % alignment == 0) aligned.push_back({cls});
    }
    auto expected = aligned.begin();
    for (std::size_t size = 0; size <= kMaxSlotSize; ++size) {
      while (expected != aligned.end() && slot_size(*expected) < size) ++expected;
      ASSERT_EQ(class_for_aligned(size, alignment), expected == aligned.end() ? ClassIndex{0} : *expected)
          << size << " at " << alignment;
    }
  }
}

TEST(SizeClasses, WhatNoClassServesHasClassZero) {
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{4096}, kUnitSize}) {
    EXPECT_EQ(class_for_aligned(kMaxSlotSize + 1, alignment).value, 0U);
    EXPECT_EQ(class_for_aligned(SIZE_MAX, alignment).value, 0U);
  }
  EXPECT_EQ(class_for_aligned(1, 2 * kUnitSize).value, 0U);
  EXPECT_EQ(class_for_aligned(0, std::size_t{1} << 63).value, 0U);
}

TEST(SizeClasses, UnitsRoundUp) {
  EXPECT_EQ(units_for(1).value, 1U);
  EXPECT_EQ(units_for(kUnitSize).value, 1U);
  EXPECT_EQ(units_for(kUnitSize + 1).value, 2U);
  EXPECT_EQ(units_for(kHeapSize).value, kUnitsPerHeap);
}

}  // namespace
}  // namespace arenite
