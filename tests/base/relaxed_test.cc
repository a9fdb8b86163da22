#include "base/relaxed.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>

namespace arenite {
namespace {

TEST(Relaxed, WhatIsStoredIsLoaded) {
  std::uint8_t byte = 0;
  relaxed_store(&byte, std::uint8_t{200});
  EXPECT_EQ(relaxed_load(&byte), 200);
  std::size_t word = 0;
  relaxed_store(&word, SIZE_MAX);
  EXPECT_EQ(relaxed_load(&word), SIZE_MAX);
}

// Under ThreadSanitizer this is the test that the accesses are no data race.
TEST(Relaxed, OtherThreadsSeeStoresWhole) {
  constexpr std::uint64_t kEither = 0xaaaaaaaaaaaaaaaa;
  std::uint64_t word = kEither;
  bool done = false;
  std::thread writer([&] {
    for (int i = 0; i < 100000; ++i) relaxed_store(&word, i % 2 == 0 ? ~kEither : kEither);
    relaxed_store(&done, true);
  });
  while (!relaxed_load(&done)) {
    const std::uint64_t seen = relaxed_load(&word);
    ASSERT_TRUE(seen == kEither || seen == ~kEither);
  }
  writer.join();
}

}  // namespace
}  // namespace arenite
