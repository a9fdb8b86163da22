#include "heap/canary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace arenite {
namespace {

class CanaryTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 65536;
  alignas(16) unsigned char block_[kBytes + 64] = {};
};

TEST_F(CanaryTest, TellsTheRequestedSizeAndTheOrigin) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{32}, std::size_t{320}, kBytes}) {
    for (std::size_t requested = 0; with_canary(requested) <= bytes; requested += requested < 400 ? 1 : 497) {
      for (const BlockOrigin origin : {BlockOrigin::kMalloc, BlockOrigin::kNew, BlockOrigin::kNewArray}) {
        std::memset(block_, 0x55, sizeof block_);
        set_canary(block_, bytes, requested, origin);
        const CanaryState state = read_canary(block_, bytes);
        ASSERT_TRUE(state.is_whole);
        EXPECT_EQ(state.requested, requested);
        EXPECT_EQ(state.origin, origin);
        for (std::size_t index = 0; index < requested; ++index) ASSERT_EQ(block_[index], 0x55);
        ASSERT_EQ(block_[bytes], 0x55);
      }
    }
  }
}

// The byte right behind the requested ones is 0 in none of the blocks, so that a string's end is always noticed.
TEST_F(CanaryTest, AnOverflowByOneByteIsNoticed) {
  for (std::size_t requested = 0; with_canary(requested) <= 320; ++requested) {
    set_canary(block_, 320, requested, BlockOrigin::kMalloc);
    ASSERT_NE(block_[requested], 0);
    for (const unsigned char written : {0x00, 0x41, 0xff}) {
      const unsigned char before = block_[requested];
      if (written == before) continue;
      block_[requested] = written;
      ASSERT_FALSE(read_canary(block_, 320).is_whole);
      block_[requested] = before;
    }
    ASSERT_TRUE(read_canary(block_, 320).is_whole);
  }
}

TEST_F(CanaryTest, NoCanaryByteIsZero) {
  for (std::size_t at = 0; at + 64 <= kBytes; at += 16) {
    set_canary(block_ + at, 64, 40, BlockOrigin::kMalloc);
    for (std::size_t index = 40; index < 48; ++index) ASSERT_NE(block_[at + index], 0);
  }
}

TEST_F(CanaryTest, EveryByteOfTheTailCounts) {
  set_canary(block_, 32, 27, BlockOrigin::kNew);
  for (std::size_t index = 28; index < 32; ++index) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      block_[index] ^= static_cast<unsigned char>(1U << bit);
      const CanaryState state = read_canary(block_, 32);
      EXPECT_FALSE(state.is_whole && state.requested == 27 && state.origin == BlockOrigin::kNew);
      block_[index] ^= static_cast<unsigned char>(1U << bit);
    }
  }
}

TEST_F(CanaryTest, ANeighboursCanaryDoesNotPass) {
  int passed = 0;
  for (std::size_t at = 0; at + 64 <= kBytes; at += 32) {
    set_canary(block_ + at, 32, 20, BlockOrigin::kMalloc);
    std::memcpy(block_ + at + 32, block_ + at, 32);
    passed += read_canary(block_ + at + 32, 32).is_whole ? 1 : 0;
  }
  EXPECT_EQ(passed, 0);
}

}  // namespace
}  // namespace arenite
