#include "heap/heap_table.h"

#include <gtest/gtest.h>

#include "fake/process.h"

namespace arenite {
namespace {

TEST(HeapTable, OnlyAddressesOfAnEnteredHeapAreKnown) {
  const fake::FreshProcess process;
  const std::uintptr_t base = std::uintptr_t{12345} << kPlatform.heap_bits;
  enter_heap(pointer_at(base), {17}, 8);
  for (const std::uintptr_t address : {base, base + 1, base + kHeapSize / 2, base + kHeapSize - 1}) {
    const HeapEntry entry = lookup_heap(pointer_at(address));
    EXPECT_TRUE(entry.is_heap());
    EXPECT_EQ(entry.arena(), ArenaId{17});
    EXPECT_EQ(entry.granule_bits(), 8U);
  }
  for (const std::uintptr_t address : {std::uintptr_t{0}, base - 1, base + kHeapSize}) {
    EXPECT_FALSE(lookup_heap(pointer_at(address)).is_heap());
  }
  heap_table[12345] = 0;
}

TEST(HeapTable, AHeapThatLeavesIsForgotten) {
  const std::uintptr_t base = std::uintptr_t{12345} << kPlatform.heap_bits;
  enter_heap(pointer_at(base), {17}, 8);
  enter_heap(pointer_at(base + kHeapSize), {18}, 4);
  leave_heap(pointer_at(base));
  EXPECT_FALSE(lookup_heap(pointer_at(base)).is_heap());
  EXPECT_EQ(lookup_heap(pointer_at(base + kHeapSize)).arena(), ArenaId{18});
  leave_heap(pointer_at(base + kHeapSize));
}

TEST(HeapTable, EveryAddressIsSafe) {
  const std::uintptr_t limit = std::uintptr_t{1} << kPlatform.address_bits;
  for (const std::uintptr_t address : {limit - 1, limit, limit + 1, std::uintptr_t{1} << 63, UINTPTR_MAX}) {
    EXPECT_FALSE(lookup_heap(pointer_at(address)).is_heap());
  }
}

// What the fast path of free relies on: one XOR says whose heap it is and how its granules are counted.
TEST(HeapTable, AnEntryXorATagIsTheShiftExactlyForTheOwner) {
  for (std::uint16_t owner = 1; owner <= kMaxArenas; owner = static_cast<std::uint16_t>(owner + 3)) {
    for (const unsigned shift : {4U, 6U, 8U, 14U}) {
      const std::uint32_t entry = arena_tag({owner}) | shift;
      ASSERT_LE(entry, UINT16_MAX);
      for (std::uint16_t other = 1; other <= kMaxArenas; ++other) {
        const std::uint32_t mixed = entry ^ arena_tag({other});
        ASSERT_EQ(mixed < kOwnShiftLimit, owner == other);
        if (owner == other) {
          ASSERT_EQ(mixed, shift);
        }
      }
      ASSERT_GE(entry ^ kNoArenaTag, kOwnShiftLimit);
    }
    ASSERT_GE(0 ^ arena_tag({owner}), kOwnShiftLimit) << "where no heap is, nothing is anybody's";
  }
  EXPECT_GE(0 ^ kNoArenaTag, kOwnShiftLimit);
}

}  // namespace
}  // namespace arenite
