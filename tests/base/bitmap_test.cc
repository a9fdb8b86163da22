#include "base/bitmap.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace arenite {
namespace {

// The same set, said in the plainest way.
template <std::size_t kBits>
struct Model {
  std::vector<bool> bits = std::vector<bool>(kBits);

  std::size_t next(std::size_t from, bool value) const {
    while (from < kBits && bits[from] != value) ++from;
    return from;
  }
  std::size_t run_below(std::size_t bit) const {
    std::size_t run = 0;
    while (run < bit && bits[bit - run - 1]) ++run;
    return run;
  }
  std::size_t count(std::size_t first, std::size_t count) const {
    std::size_t members = 0;
    for (std::size_t bit = first; bit < first + count; ++bit) members += bits[bit] ? 1 : 0;
    return members;
  }
  std::size_t find_run(std::size_t length, std::size_t alignment) const {
    for (std::size_t start = 0; start + length <= kBits; start += alignment) {
      if (next(start, false) >= start + length) return start;
    }
    return Bitmap<kBits>::kNone;
  }
  std::size_t longest() const {
    std::size_t longest = 0;
    for (std::size_t bit = next(0, true); bit < kBits;) {
      const std::size_t end = next(bit, false);
      longest = end - bit > longest ? end - bit : longest;
      bit = next(end, true);
    }
    return longest;
  }
};

template <std::size_t kBits>
void expect_same(const Bitmap<kBits>& bitmap, const Model<kBits>& model) {
  constexpr std::size_t kNone = Bitmap<kBits>::kNone;
  const auto or_none = [](std::size_t bit) { return bit == kBits ? kNone : bit; };
  ASSERT_EQ(bitmap.empty(), model.next(0, true) == kBits);
  ASSERT_EQ(bitmap.lowest(), or_none(model.next(0, true)));
  for (std::size_t bit = 0; bit < kBits; ++bit) {
    ASSERT_EQ(bitmap.test(bit), model.bits[bit]) << bit;
    ASSERT_EQ(bitmap.next_set(bit), or_none(model.next(bit, true))) << bit;
    ASSERT_EQ(bitmap.next_clear(bit), model.next(bit, false)) << bit;
    ASSERT_EQ(bitmap.run_below(bit), model.run_below(bit)) << bit;
  }
  ASSERT_EQ(bitmap.run_below(kBits), model.run_below(kBits));
  ASSERT_EQ(bitmap.next_set(kBits), kNone);
  ASSERT_EQ(bitmap.next_clear(kBits), kBits);
  ASSERT_EQ(bitmap.count(0, kBits), model.count(0, kBits));
}

template <std::size_t kBits>
void expect_same_runs(const Bitmap<kBits>& bitmap, const Model<kBits>& model, std::size_t length,
                      std::size_t alignment) {
  std::size_t longest = SIZE_MAX;
  const std::size_t found = bitmap.find_run(length, alignment, &longest);
  ASSERT_EQ(found, model.find_run(length, alignment)) << length << " at multiples of " << alignment;
  if (found == Bitmap<kBits>::kNone) {
    ASSERT_EQ(longest, model.longest());
  }
  ASSERT_LE(longest, model.longest());
}

template <std::size_t kBits>
void compare_random_operations(std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  Bitmap<kBits> bitmap{};
  Model<kBits> model;
  for (int step = 0; step < steps; ++step) {
    const std::size_t first = random() % kBits;
    const std::size_t most = random() % 4 == 0 ? kBits - first : (kBits - first < 130 ? kBits - first : 130);
    const std::size_t count = random() % (most + 1);
    const std::size_t operation = random() % 4;
    if (operation == 0) {
      bitmap.set(first);
      model.bits[first] = true;
    } else if (operation == 1) {
      bitmap.clear(first);
      model.bits[first] = false;
    } else {
      const bool value = operation == 2;
      value ? bitmap.set_range(first, count) : bitmap.clear_range(first, count);
      for (std::size_t bit = first; bit < first + count; ++bit) model.bits[bit] = value;
    }
    ASSERT_EQ(bitmap.count(first, count), model.count(first, count));
    expect_same(bitmap, model);
    const std::size_t alignment = std::size_t{1} << (random() % 8);
    expect_same_runs(bitmap, model, 1 + random() % (random() % 2 == 0 ? 8 : kBits), alignment);
  }
}

TEST(Bitmap, RandomOperationsAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    compare_random_operations<64>(seed, 500);
    compare_random_operations<192>(seed, 500);
    compare_random_operations<4096>(seed, 30);
  }
}

TEST(Bitmap, BordersOfWords) {
  constexpr std::size_t kBits = 256;
  constexpr std::size_t kBorders[] = {0, 1, 62, 63, 64, 65, 126, 127, 128, 129, 191, 192, 193, 254, 255, 256};
  for (const std::size_t first : kBorders) {
    for (const std::size_t end : kBorders) {
      if (end < first) continue;
      Bitmap<kBits> set{};
      Bitmap<kBits> cleared{};
      Model<kBits> set_model;
      Model<kBits> cleared_model;
      cleared.set_range(0, kBits);
      for (std::size_t bit = 0; bit < kBits; ++bit) {
        set_model.bits[bit] = bit >= first && bit < end;
        cleared_model.bits[bit] = !set_model.bits[bit];
      }
      set.set_range(first, end - first);
      cleared.clear_range(first, end - first);
      expect_same(set, set_model);
      expect_same(cleared, cleared_model);
      for (const std::size_t length : {1UL, 2UL, 63UL, 64UL, 65UL, 128UL, 255UL, 256UL}) {
        for (const std::size_t alignment : {1UL, 2UL, 64UL, 128UL}) {
          expect_same_runs(set, set_model, length, alignment);
          expect_same_runs(cleared, cleared_model, length, alignment);
        }
      }
    }
  }
}

TEST(Bitmap, TheLastWordOfTheLargestMapIsKnown) {
  Bitmap<4096> bitmap{};
  bitmap.set(4095);
  EXPECT_FALSE(bitmap.empty());
  EXPECT_EQ(bitmap.lowest(), 4095U);
  EXPECT_EQ(bitmap.next_set(0), 4095U);
  EXPECT_EQ(bitmap.run_below(4096), 1U);
  bitmap.clear(4095);
  EXPECT_TRUE(bitmap.empty());
  EXPECT_EQ(bitmap.lowest(), Bitmap<4096>::kNone);
}

TEST(Bitmap, AnAlignmentBeyondTheMapFindsTheStartOnly) {
  Bitmap<128> bitmap{};
  std::size_t longest = 0;
  bitmap.set_range(1, 127);
  EXPECT_EQ(bitmap.find_run(1, 4096, &longest), Bitmap<128>::kNone);
  EXPECT_EQ(longest, 127U);
  bitmap.set(0);
  EXPECT_EQ(bitmap.find_run(128, 4096, &longest), 0U);
}

}  // namespace
}  // namespace arenite
