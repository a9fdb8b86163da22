#include "arena/damage_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/bits.h"

namespace arenite {
namespace {

TEST(DamageLog, KeepsTheFirstUntilItIsTakenAndCountsAll) {
  DamageLog log;
  FoundDamage found;
  EXPECT_FALSE(log.any());
  EXPECT_FALSE(log.take(&found));
  log.note({.kind = Damage::kSpan, .whole_arena = false, .arena = {3}, .where = &log});
  log.note({.kind = Damage::kHeap, .whole_arena = true, .arena = {4}, .where = nullptr});
  EXPECT_TRUE(log.any());
  EXPECT_EQ(log.count(), 2U);
  ASSERT_TRUE(log.take(&found));
  EXPECT_EQ(found.kind, Damage::kSpan);
  EXPECT_FALSE(found.whole_arena);
  EXPECT_EQ(found.arena, ArenaId{3});
  EXPECT_EQ(found.where, &log);
  EXPECT_FALSE(log.any());
  EXPECT_FALSE(log.take(&found));
  log.note({.kind = Damage::kLink, .whole_arena = true, .arena = {5}, .where = nullptr});
  ASSERT_TRUE(log.take(&found));
  EXPECT_EQ(found.kind, Damage::kLink);
}

TEST(DamageLog, EachThatWasKeptIsTakenByOneThread) {
  DamageLog log;
  constexpr int kNotes = 20000;
  std::atomic<int> taken = 0;
  std::atomic<bool> done = false;
  const auto take_all = [&] {
    FoundDamage found;
    for (bool last = false; !last;) {
      last = done;
      while (log.take(&found)) {
        EXPECT_EQ(found.where, pointer_at(found.arena.value));
        ++taken;
      }
    }
  };
  std::thread first(take_all);
  std::thread second(take_all);
  for (std::uint16_t i = 0; i < kNotes; ++i) {
    while (log.any()) std::this_thread::yield();
    log.note({.kind = Damage::kHeap, .whole_arena = true, .arena = {i}, .where = pointer_at(i)});
  }
  done = true;
  first.join();
  second.join();
  EXPECT_LE(taken, kNotes);
  EXPECT_GT(taken, 0);
  EXPECT_EQ(log.count(), static_cast<std::size_t>(kNotes));
}

}  // namespace
}  // namespace arenite
