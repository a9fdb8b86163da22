#include "base/bits.h"

#include <gtest/gtest.h>

#include <random>

namespace arenite {
namespace {

TEST(Bits, LiteralsCountInPowersOfTwo) {
  EXPECT_EQ(1_KiB, 1024U);
  EXPECT_EQ(3_MiB, 3U * 1024 * 1024);
}

TEST(Bits, AlignmentGoesToTheNearestMultiple) {
  for (const std::size_t alignment : {1UL, 2UL, 16UL, 4096UL, 65536UL}) {
    for (std::size_t value = 0; value < 3 * alignment && value < 10000; ++value) {
      const std::size_t down = align_down(value, alignment);
      const std::size_t up = align_up(value, alignment);
      EXPECT_EQ(down % alignment, 0U);
      EXPECT_EQ(up % alignment, 0U);
      EXPECT_TRUE(down <= value && value < down + alignment);
      EXPECT_TRUE(value <= up && up < value + alignment);
      EXPECT_EQ(is_aligned(value, alignment), value % alignment == 0);
    }
  }
  EXPECT_EQ(align_up(SIZE_MAX, 4096), 0U) << "wraps, as the header says";
  EXPECT_EQ(align_down(SIZE_MAX, 4096), SIZE_MAX - 4095);
}

TEST(Bits, CeilDivRoundsUp) {
  EXPECT_EQ(ceil_div(0, 7), 0U);
  EXPECT_EQ(ceil_div(1, 7), 1U);
  EXPECT_EQ(ceil_div(7, 7), 1U);
  EXPECT_EQ(ceil_div(8, 7), 2U);
}

TEST(Bits, Log2FloorIsTheHighestBit) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::size_t power = std::size_t{1} << bit;
    EXPECT_EQ(log2_floor(power), bit);
    EXPECT_EQ(log2_floor(power | (power - 1)), bit);
  }
}

TEST(Bits, SaturatingSumsAndProductsNeverWrap) {
  EXPECT_EQ(saturating_add(1, 2), 3U);
  EXPECT_EQ(saturating_add(SIZE_MAX, 0), SIZE_MAX);
  EXPECT_EQ(saturating_add(SIZE_MAX, 1), SIZE_MAX);
  EXPECT_EQ(saturating_add(SIZE_MAX - 1, 1), SIZE_MAX);
  EXPECT_EQ(saturating_mul(SIZE_MAX, 0), 0U);
  EXPECT_EQ(saturating_mul(SIZE_MAX, 1), SIZE_MAX);
  EXPECT_EQ(saturating_mul(std::size_t{1} << 32, std::size_t{1} << 32), SIZE_MAX);
  EXPECT_EQ(saturating_mul(std::size_t{1} << 32, std::size_t{1} << 31), std::size_t{1} << 63);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::size_t a = random() >> (random() % 64);
    const std::size_t b = random() >> (random() % 64);
    const unsigned __int128 sum = static_cast<unsigned __int128>(a) + b;
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    EXPECT_EQ(saturating_add(a, b), sum > SIZE_MAX ? SIZE_MAX : static_cast<std::size_t>(sum));
    EXPECT_EQ(saturating_mul(a, b), product > SIZE_MAX ? SIZE_MAX : static_cast<std::size_t>(product));
  }
}

TEST(Bits, AddressesGoBothWays) {
  int object = 0;
  EXPECT_EQ(pointer_at(address_of(&object)), &object);
  EXPECT_EQ(address_of(nullptr), 0U);
}

}  // namespace
}  // namespace arenite
