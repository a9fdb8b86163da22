#include "heap/granule_map.h"

#include <gtest/gtest.h>

#include <random>

namespace arenite {
namespace {

// The first that for_each() finds.
std::size_t find(const GranuleMap& map, std::size_t from, std::size_t end, GranuleByte byte) {
  std::size_t found = end;
  map.for_each(from, end, byte, [&](std::size_t granule) {
    found = granule;
    return false;
  });
  return found;
}

TEST(GranuleByte, EachValueHasOneState) {
  for (unsigned value = 0; value < 256; ++value) {
    const GranuleByte byte{static_cast<std::uint8_t>(value)};
    EXPECT_EQ(byte.is_none() + byte.is_live() + byte.is_cached_or_stocked() + byte.is_free(), 1) << value;
  }
  for (std::uint8_t cls = 1; cls < 64; ++cls) {
    EXPECT_TRUE(GranuleByte::live({cls}).is_live());
    EXPECT_TRUE(GranuleByte::cached({cls}).is_cached_or_stocked());
    EXPECT_TRUE(GranuleByte::free({cls}).is_free());
    for (const GranuleByte byte : {GranuleByte::live({cls}), GranuleByte::cached({cls}), GranuleByte::free({cls})}) {
      EXPECT_EQ(byte.cls().value, cls);
    }
  }
}

class GranuleMapTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kGranules = 256;

  std::size_t find_plainly(std::size_t from, std::size_t end, GranuleByte byte) const {
    while (from < end && map_.get(from) != byte) ++from;
    return from < end ? from : end;
  }

  alignas(8) std::uint8_t bytes_[kGranules + 8] = {};
  GranuleMap map_{bytes_};
};

TEST_F(GranuleMapTest, FindIsTheFirstOfRandomContents) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    // Few values, so that some are found; with neighbours that differ in one bit, and the values that carries would
    // disturb.
    constexpr std::uint8_t kValues[] = {0, 1, 2, 0x41, 0x81, 0xff, 0x7f, 0x80, 0xfe};
    const std::size_t kinds = 1 + random() % 9;
    for (std::size_t granule = 0; granule < kGranules + 8; ++granule) {
      const bool any = random() % 16 == 0;
      bytes_[granule] = any ? static_cast<std::uint8_t>(random()) : kValues[random() % kinds];
    }
    for (int i = 0; i < 20; ++i) {
      const std::size_t from = random() % kGranules;
      const std::size_t end = from + random() % (kGranules - from + 1);
      const GranuleByte byte{kValues[random() % 9]};
      ASSERT_EQ(find(map_, from, end, byte), find_plainly(from, end, byte))
          << from << " to " << end << ", byte " << unsigned{byte.value};
    }
  }
}

TEST_F(GranuleMapTest, FindSeesEachPlaceAlone) {
  const GranuleByte byte = GranuleByte::free({9});
  for (std::size_t place = 0; place < 40; ++place) {
    map_.set(place, byte);
    for (std::size_t from = 0; from < 40; ++from) {
      for (std::size_t end = from; end <= 40; ++end) {
        ASSERT_EQ(find(map_, from, end, byte), find_plainly(from, end, byte)) << place << ": " << from << " to " << end;
      }
    }
    map_.set(place, {});
  }
}

TEST_F(GranuleMapTest, ForEachVisitsAllInOrder) {
  const GranuleByte byte = GranuleByte::free({9});
  for (std::size_t granule = 3; granule < 90; granule += granule % 7 + 1) map_.set(granule, byte);
  std::size_t next = 5;
  map_.for_each(5, 80, byte, [&](std::size_t granule) {
    EXPECT_EQ(granule, find_plainly(next, 80, byte));
    next = granule + 1;
    return true;
  });
  EXPECT_EQ(find_plainly(next, 80, byte), 80U) << "none is left out";
}

TEST_F(GranuleMapTest, EraseLeavesTheNeighbours) {
  for (std::size_t granule = 0; granule < kGranules; ++granule) map_.set(granule, GranuleByte::live({5}));
  map_.erase(8, 16);
  for (std::size_t granule = 0; granule < kGranules; ++granule) {
    EXPECT_EQ(map_.get(granule).is_none(), granule >= 8 && granule < 24) << granule;
  }
  map_.erase(31, 2);
  for (std::size_t granule = 24; granule < kGranules; ++granule) {
    EXPECT_EQ(map_.get(granule).is_none(), granule == 31 || granule == 32) << granule;
  }
  map_.erase(0, 0);
  EXPECT_TRUE(map_.get(0).is_live());
}

}  // namespace
}  // namespace arenite
