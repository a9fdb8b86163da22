#include "heap/trim.h"

#include <gtest/gtest.h>

#include <vector>

namespace arenite {
namespace {

// What is interesting around a value: itself, its neighbours, and the neighbouring multiples.
void add_around(std::vector<std::size_t>* values, std::size_t value) {
  for (const std::size_t distance : {std::size_t{0}, std::size_t{1}, 4_KiB - 1, 4_KiB, 4_KiB + 1, 16_KiB, 64_KiB}) {
    values->push_back(value + distance);
    values->push_back(value - distance);
  }
}

std::vector<std::size_t> interesting() {
  std::vector<std::size_t> values;
  for (const std::size_t value : {std::size_t{0}, 4_KiB, 128_KiB, 256_KiB, 64_MiB, SIZE_MAX / 2, SIZE_MAX})
    add_around(&values, value);
  return values;
}

TEST(Trim, HoldsOverTheWholeGrid) {
  const std::vector<std::size_t> values = interesting();
  for (const std::size_t top : values) {
    for (const std::size_t pad : values) {
      for (const std::size_t threshold : values) {
        for (const std::size_t granularity : {4_KiB, 16_KiB, 64_KiB}) {
          const std::size_t bytes = trimmable(top, {.threshold = threshold, .pad = pad}, granularity);
          ASSERT_LE(bytes, top);
          ASSERT_EQ(bytes % granularity, 0U);
          ASSERT_TRUE(bytes == 0 || top >= threshold);
          if (bytes == 0) continue;
          ASSERT_GE(top - bytes, pad) << "the pad stays";
          ASSERT_GE(top - bytes - pad, kMinTop) << "and the minimum";
          ASSERT_LT(top - bytes - pad, kMinTop + granularity) << "and no more than that";
        }
      }
    }
  }
}

TEST(Trim, AllThatCanGoGoes) {
  EXPECT_EQ(trimmable(128_KiB, {.threshold = 128_KiB, .pad = 0}, 4_KiB), 124_KiB);
  EXPECT_EQ(trimmable(128_KiB - 1, {.threshold = 128_KiB, .pad = 0}, 4_KiB), 0U);
  EXPECT_EQ(trimmable(256_KiB, {.threshold = 128_KiB, .pad = 128_KiB}, 4_KiB), 124_KiB);
  EXPECT_EQ(trimmable(256_KiB, {.threshold = 128_KiB, .pad = 128_KiB}, 64_KiB), 64_KiB);
  EXPECT_EQ(trimmable(64_KiB, {.threshold = 0, .pad = 128_KiB}, 4_KiB), 0U)
      << "a top smaller than the pad must not wrap";
  EXPECT_EQ(trimmable(kMinTop, {.threshold = 0, .pad = 0}, 4_KiB), 0U);
  EXPECT_EQ(trimmable(kMinTop + 4_KiB, {.threshold = 0, .pad = 0}, 4_KiB), 4_KiB);
  EXPECT_EQ(trimmable(64_MiB, {.threshold = SIZE_MAX, .pad = 0}, 4_KiB), 0U) << "SIZE_MAX switches trimming off";
  EXPECT_EQ(trimmable(64_MiB, {.threshold = 0, .pad = SIZE_MAX}, 4_KiB), 0U);
}

}  // namespace
}  // namespace arenite
