#include "policy/damage.h"

#include <gtest/gtest.h>

namespace arenite {
namespace {

TEST(Damage, EachKindHasATextThatCrashToolsKnow) {
  EXPECT_EQ(damage_text(Damage::kArena), "malloc(): memory corruption");
  EXPECT_EQ(damage_text(Damage::kHeap), "malloc(): corrupted top size");
  EXPECT_EQ(damage_text(Damage::kLink), "corrupted double-linked list");
  EXPECT_EQ(damage_text(Damage::kMagazine), "malloc(): unaligned tcache chunk detected");
  EXPECT_EQ(damage_text(Damage::kSpan), "corrupted size vs. prev_size");
}

}  // namespace
}  // namespace arenite
