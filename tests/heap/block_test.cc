#include "heap/block.h"

#include <gtest/gtest.h>

#include "arena/arena.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/heap.h"
#include "heap/large_mappings.h"
#include "heap/sampled_slots.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {
namespace {

constexpr ArenaId kOwner{7};

class BlockTest : public ::testing::Test {
 protected:
  void* take_cached(ClassIndex cls) {
    void* slot = nullptr;
    EXPECT_EQ(arena_.take_slots(cls, &slot, 1), 1U);
    return slot;
  }

  void* take_live(ClassIndex cls) {
    void* const slot = take_cached(cls);
    const Heap& heap = Heap::of(slot);
    heap.map().set(heap.granule_of(slot), GranuleByte::live(cls));
    return slot;
  }

  static char* behind(void* pointer, std::size_t offset) { return static_cast<char*>(pointer) + offset; }

  fake::FreshProcess process_;
  Arena arena_{kOwner};
};

TEST_F(BlockTest, ALiveSlotOfEachClassIsFoundWithItsSizeAndOwner) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    void* const slot = take_live({cls});
    const Block block = find_block(slot);
    EXPECT_EQ(block.kind, BlockKind::kSlot);
    EXPECT_EQ(block.byte, GranuleByte::live({cls}));
    EXPECT_EQ(block.bytes, size_class({cls}).slot_size);
    EXPECT_EQ(block.heap.arena(), kOwner);
    EXPECT_TRUE(is_aligned(address_of(slot), kMinAlignment));
  }
}

TEST_F(BlockTest, NothingStartsInsideASlot) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    void* const slot = take_live({cls});
    const std::size_t size = size_class({cls}).slot_size;
    for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, size / 2, size - 1}) {
      const Block block = find_block(behind(slot, offset));
      EXPECT_EQ(block.kind, BlockKind::kNone) << offset << " bytes inside a slot of " << size;
      EXPECT_TRUE(block.byte.is_none());
      EXPECT_EQ(block.bytes, 0U);
      EXPECT_EQ(block.heap.arena(), kOwner);
    }
  }
}

TEST_F(BlockTest, CachedAndFreeSlotsAreNoBlocksButTellTheirState) {
  const ClassIndex cls = class_for(48);
  void* const slot = take_cached(cls);
  EXPECT_EQ(find_block(slot).kind, BlockKind::kNone);
  EXPECT_EQ(find_block(slot).byte, GranuleByte::cached(cls));
  void* const keeper = take_live(cls);
  ASSERT_EQ(arena_.give_slots(&slot, 1), nullptr);
  arena_.trim(0);  // empties the transfer stacks
  EXPECT_EQ(find_block(slot).kind, BlockKind::kNone);
  EXPECT_EQ(find_block(slot).byte, GranuleByte::free(cls));
  EXPECT_EQ(find_block(keeper).kind, BlockKind::kSlot);
  EXPECT_TRUE(find_block(behind(keeper, 48)).byte.is_none()) << "never carved";
}

TEST_F(BlockTest, RunsAreFoundAtTheirStartOnly) {
  void* const run = arena_.take_run({5}, {1}, true).pointer;
  const Block block = find_block(run);
  EXPECT_EQ(block.kind, BlockKind::kRun);
  EXPECT_EQ(block.bytes, 5 * kUnitSize);
  for (const std::size_t offset : {std::size_t{16}, std::size_t{4096}, kUnitSize, 4 * kUnitSize, 5 * kUnitSize}) {
    EXPECT_EQ(find_block(behind(run, offset)).kind, BlockKind::kNone) << offset;
  }
  ASSERT_TRUE(arena_.give_run(run));
  EXPECT_EQ(find_block(run).kind, BlockKind::kNone);
  EXPECT_TRUE(find_block(run).byte.is_free());
}

TEST_F(BlockTest, LargeMappingsAreFoundAtTheirStartOnly) {
  void* const mapping = large_mappings.take(3 * 4096, 4096);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(find_block(mapping).kind, BlockKind::kMapping);
  EXPECT_EQ(find_block(mapping).bytes, 3U * 4096);
  EXPECT_FALSE(find_block(mapping).heap.is_heap());
  for (const std::size_t offset : {std::size_t{1}, std::size_t{16}, std::size_t{4096}, std::size_t{8192}}) {
    EXPECT_EQ(find_block(behind(mapping, offset)).kind, BlockKind::kNone);
  }
  large_mappings.give(mapping);
  EXPECT_EQ(find_block(mapping).kind, BlockKind::kNone);
}

// A heap may have reserved less than its 64 MiB of address space; the system can place a mapping in the rest.
TEST_F(BlockTest, LargeMappingsBehindASmallReservationAreFound) {
  options.set(OptionIndex::reservation, 1_MiB);
  void* const run = arena_.take_run({3}, {1}, true).pointer;
  ASSERT_NE(run, nullptr);
  fake::place_next(address_of(&Heap::of(run)) + kHeapSize - 1_MiB);
  void* const mapping = large_mappings.take(300000, 4096);
  ASSERT_NE(mapping, nullptr);
  ASSERT_EQ(&Heap::of(mapping), &Heap::of(run)) << "in the part of the address space that the heap has not reserved";
  EXPECT_EQ(find_block(mapping).kind, BlockKind::kMapping);
  EXPECT_EQ(find_block(mapping).bytes, align_up(300000, 4096));
  EXPECT_EQ(find_block(behind(mapping, 4096)).kind, BlockKind::kNone);
  large_mappings.give(mapping);
  EXPECT_EQ(find_block(mapping).kind, BlockKind::kNone);
}

// The same where the heap once was larger and a run that began there has been given back.
TEST_F(BlockTest, LargeMappingsWhereARunOnceWasAreFound) {
  options.set(OptionIndex::top_pad, 0);
  void* const keeper = arena_.take_run({4}, {1}, true).pointer;
  void* const run = arena_.take_run({4}, {4}, true).pointer;
  ASSERT_TRUE(arena_.give_run(run));
  arena_.release_reservations();
  Heap& heap = Heap::of(keeper);
  const std::uintptr_t reserved_end = address_of(&heap) + heap.figures().reserved;
  if (reserved_end > address_of(run)) GTEST_SKIP() << "the heap keeps what was committed";
  fake::place_next(address_of(run));
  void* const mapping = large_mappings.take(4 * kUnitSize, 4096);
  ASSERT_EQ(mapping, run);
  EXPECT_EQ(find_block(mapping).kind, BlockKind::kMapping);
}

TEST_F(BlockTest, TheHeadOfAHeapHoldsNoBlock) {
  void* const slot = take_live(class_for(16));
  Heap& heap = Heap::of(slot);
  for (std::size_t offset = 0; offset < first_unit_of(heap.kind()).value * kUnitSize; offset += 4096) {
    EXPECT_EQ(find_block(behind(&heap, offset)).kind, BlockKind::kNone);
  }
}

TEST_F(BlockTest, AnyValueIsSafe) {
  void* const slot = take_live(class_for(100));
  static int global = 0;
  int local = 0;
  const std::uintptr_t values[] = {0,
                                   1,
                                   4096,
                                   address_of(&global),
                                   address_of(&local),
                                   address_of(slot) + 1,
                                   address_of(&Heap::of(slot)) + kHeapSize - 1,
                                   (std::uintptr_t{1} << kPlatform.address_bits) - 1,
                                   std::uintptr_t{1} << kPlatform.address_bits,
                                   std::uintptr_t{1} << 63,
                                   UINTPTR_MAX - 4095,
                                   UINTPTR_MAX};
  for (const std::uintptr_t value : values) {
    const Block block = find_block(pointer_at(value));
    EXPECT_EQ(block.kind, BlockKind::kNone) << value;
    EXPECT_EQ(block.bytes, 0U);
  }
}

TEST_F(BlockTest, SampledBlocksAreFoundByTheirStarts) {
  ASSERT_TRUE(sampled_slots.open());
  void* const sampled = sampled_slots.take(100, 16, BlockOrigin::kMalloc, {});
  EXPECT_EQ(find_block(sampled).kind, BlockKind::kSampled);
  EXPECT_EQ(find_block(sampled).bytes, 100U);
  EXPECT_EQ(find_block(behind(sampled, 16)).kind, BlockKind::kNone);
  EXPECT_FALSE(find_block(behind(sampled, 16)).freed);
  ASSERT_TRUE(sampled_slots.give(sampled, {}));
  EXPECT_EQ(find_block(sampled).kind, BlockKind::kNone);
  EXPECT_TRUE(find_block(sampled).freed);
  EXPECT_FALSE(find_block(behind(sampled, 16)).freed);
}

TEST_F(BlockTest, LargerPagesChangeNothing) {
  fake::set_page_size(64_KiB);
  void* const mapping = large_mappings.take(100, 16);
  EXPECT_EQ(find_block(mapping).bytes, 64_KiB);
  EXPECT_EQ(find_block(behind(mapping, 4096)).kind, BlockKind::kNone);
}

}  // namespace
}  // namespace arenite
