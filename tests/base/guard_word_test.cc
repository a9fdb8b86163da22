#include "base/guard_word.h"

#include <gtest/gtest.h>

#include <cstring>

namespace arenite {
namespace {

TEST(GuardWord, IsWholeUntilAnyOfItsBytesChanges) {
  GuardWord word;
  EXPECT_FALSE(word.is_whole());
  word.set();
  EXPECT_TRUE(word.is_whole());
  auto* const bytes = static_cast<unsigned char*>(static_cast<void*>(&word));
  for (std::size_t index = 0; index < sizeof word; ++index) {
    bytes[index] ^= 1;
    EXPECT_FALSE(word.is_whole());
    bytes[index] ^= 1;
  }
  EXPECT_TRUE(word.is_whole());
}

TEST(GuardWord, ACopyElsewhereIsNotWhole) {
  GuardWord words[2];
  words[0].set();
  std::memcpy(static_cast<void*>(&words[1]), static_cast<const void*>(&words[0]), sizeof(GuardWord));
  EXPECT_FALSE(words[1].is_whole());
}

TEST(GuardWord, DependsOnTheSecret) {
  GuardWord word;
  word.set();
  const std::uintptr_t before = sealed.link_secret;
  sealed.link_secret ^= 1;
  EXPECT_FALSE(word.is_whole());
  sealed.link_secret = before;
}

}  // namespace
}  // namespace arenite
