#include "heap/sampled_slots.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "fake/memory.h"
#include "fake/process.h"
#include "os/memory.h"

namespace arenite {
namespace {

CallRecord record_of(std::uintptr_t call) {
  CallRecord record;
  record.thread = 7;
  record.count = 1;
  record.calls[0] = call;
  return record;
}

class SampledSlotsTest : public ::testing::Test {
 protected:
  SampledSlotsTest() { EXPECT_TRUE(slots_.open()); }

  char* take(std::size_t size, std::size_t alignment = 16) {
    return static_cast<char*>(slots_.take(size, alignment, BlockOrigin::kNew, record_of(1)));
  }

  const fake::FreshProcess process_;
  const std::size_t page_ = os::page_size();
  SampledSlots& slots_ = sampled_slots;
};

TEST_F(SampledSlotsTest, UntilTheyAreOpenThereAreNone) {
  const std::unique_ptr<SampledSlots> closed = std::make_unique<SampledSlots>();
  EXPECT_EQ(closed->take(16, 16, BlockOrigin::kMalloc, {}), nullptr);
  EXPECT_FALSE(closed->contains(nullptr));
  EXPECT_FALSE(closed->contains(&closed));
}

TEST_F(SampledSlotsTest, WhereTheSystemRefusesNothingIsLeft) {
  const std::size_t before = fake::mapped_bytes();
  SampledSlots other;
  for (const fake::Call call : {fake::Call::kMap, fake::Call::kReserve}) {
    fake::fail_all(call);
    EXPECT_FALSE(other.open());
    fake::allow_all();
    EXPECT_EQ(fake::mapped_bytes(), before);
  }
  fake::fail_all(fake::Call::kCommit);
  EXPECT_EQ(take(10), nullptr);
  fake::allow_all();
  EXPECT_NE(take(10), nullptr);
}

TEST_F(SampledSlotsTest, BlocksStandAtTheEndsOfPagesBetweenPagesWithoutAccess) {
  std::set<bool> at_start;
  for (std::size_t round = 0; round < 2; ++round) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{16}, std::size_t{100}, page_ - 1, page_}) {
      for (const std::size_t alignment : {std::size_t{16}, std::size_t{64}, page_}) {
        for (std::size_t slot = 0; slot < SampledSlots::kSlots / 4; ++slot) {  // so that each slot comes again
          char* const block = take(size, alignment);
          ASSERT_NE(block, nullptr);
          ASSERT_TRUE(is_aligned(address_of(block), alignment));
          char* const page = static_cast<char*>(pointer_at(align_down(address_of(block), page_)));
          EXPECT_TRUE(fake::is_usable(page, page_));
          EXPECT_FALSE(fake::is_usable(page - page_, page_));
          EXPECT_FALSE(fake::is_usable(page + page_, page_));
          const bool starts = block == page;
          at_start.insert(starts);
          if (!starts) {
            EXPECT_LT(static_cast<std::size_t>(page + page_ - (block + size)), alignment);
          }
          for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(block[at], 0);
          std::memset(block, 1, size);
          EXPECT_TRUE(slots_.give(block, {}));
          EXPECT_FALSE(fake::is_usable(page, page_));
        }
      }
    }
  }
  EXPECT_EQ(at_start.size(), 2U);
  EXPECT_EQ(take(page_ + 1), nullptr);
  EXPECT_EQ(take(1, 2 * page_), nullptr);
  EXPECT_EQ(take(0), nullptr);
}

TEST_F(SampledSlotsTest, EveryByteAroundABlockCounts) {
  for (int place = 0; place < 2; ++place) {
    for (std::size_t i = 0; i + 1 < SampledSlots::kSlots && place == 1; ++i) slots_.give(take(1), {});
    char* const block = take(100);
    const SampledBlock* const known = slots_.find(block);
    ASSERT_NE(known, nullptr);
    char* const page = static_cast<char*>(pointer_at(align_down(address_of(block), page_)));
    for (char* at = page; at != page + page_; ++at) {
      const bool is_inside = at >= block && at < block + 100;
      *at ^= 1;
      ASSERT_EQ(slots_.is_whole(*known), is_inside);
      *at ^= 1;
    }
    EXPECT_TRUE(slots_.give(block, {}));
  }
}

TEST_F(SampledSlotsTest, WhatIsKnownOfABlockOutlivesIt) {
  char* const block = take(100);
  const SampledBlock* const live = slots_.find(block);
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(live->requested, 100U);
  EXPECT_EQ(live->origin, BlockOrigin::kNew);
  EXPECT_EQ(live->taken.calls[0], 1U);
  EXPECT_EQ(slots_.find(block + 1), nullptr);
  EXPECT_FALSE(slots_.give(block + 1, {}));
  EXPECT_TRUE(slots_.give(block, record_of(2)));
  EXPECT_FALSE(slots_.give(block, record_of(3))) << "only once";
  EXPECT_EQ(slots_.find(block), nullptr);
  for (const std::ptrdiff_t offset : {-200, 0, 50, 100, 300}) {
    ASSERT_TRUE(slots_.contains(block + offset));
    const SampledBlock& freed = slots_.around(block + offset);
    EXPECT_EQ(freed.start, address_of(block));
    EXPECT_EQ(freed.state, SampledBlock::State::kFreed);
    EXPECT_EQ(freed.given.calls[0], 2U);
    EXPECT_EQ(freed.given.thread, 7U);
  }
}

TEST_F(SampledSlotsTest, TheSlotThatWasFreedLongestAgoComesNext) {
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < SampledSlots::kSlots; ++i) blocks.push_back(take(16));
  EXPECT_EQ(take(16), nullptr) << "all are in use";
  for (const std::size_t index : {9U, 10U, 20U}) EXPECT_TRUE(slots_.give(blocks[index], {}));
  for (const std::size_t index : {9U, 10U, 20U}) {
    char* const block = take(16);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(&slots_.around(block), &slots_.around(blocks[index]));
  }
}

TEST_F(SampledSlotsTest, APageThatCannotBeTakenAwayIsEmptied) {
  char* const block = take(100);
  std::memset(block, 1, 100);
  fake::fail_all(fake::Call::kDecommit);
  EXPECT_TRUE(slots_.give(block, {}));
  fake::allow_all();
  for (int at = 0; at < 100; ++at) ASSERT_EQ(block[at], 0);
}

}  // namespace
}  // namespace arenite
