#include "policy/misuse.h"

#include <gtest/gtest.h>

namespace arenite {
namespace {

TEST(Misuse, EachKindHasGlibcsText) {
  EXPECT_EQ(misuse_text(Misuse::kDoubleFreeCached), "free(): double free detected in tcache 2");
  EXPECT_EQ(misuse_text(Misuse::kDoubleFree), "double free or corruption (!prev)");
  EXPECT_EQ(misuse_text(Misuse::kInvalidFree), "free(): invalid pointer");
  EXPECT_EQ(misuse_text(Misuse::kInvalidSize), "free(): invalid size");
  EXPECT_EQ(misuse_text(Misuse::kInvalidRealloc), "realloc(): invalid pointer");
}

TEST(Misuse, TheActionIsThreeBits) {
  for (std::size_t bits = 0; bits < 16; ++bits) {
    const CheckAction action = check_action_from(bits);
    EXPECT_EQ(action.print, bits % 2 == 1);
    EXPECT_EQ(action.abort, bits / 2 % 2 == 1);
    EXPECT_EQ(action.brief, bits / 4 % 2 == 1);
  }
}

}  // namespace
}  // namespace arenite
