#include "cache/lever.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "arena/registry.h"
#include "cache/cache_use.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "policy/options.h"

namespace arenite {
namespace {

constexpr CacheRules kAllRules = {.lever = true, .random = true, .quarantine = true};

bool is_live(const void* slot, ClassIndex cls) { return mark_of(slot, cls) == GranuleByte::live(cls); }

class LeverTest : public ::testing::Test {
 protected:
  // A slot that the magazine has, so that take_levered() finds it.
  void put_one(ClassIndex cls) {
    void* const slot = mine_.take_slow(cls);
    ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
  }
  MagazineStore& store() {
    MagazineStore* found = nullptr;
    store_pool.for_each_used([&](MagazineStore& store) {
      if (store.use.cache == &mine_) found = &store;
    });
    return *found;
  }

  const fake::FreshProcess process_;
  ThreadCache mine_;
  ThreadCache other_;
  const ClassIndex cls_ = class_for(64);
};

class LeverRulesTest : public LeverTest, public ::testing::WithParamInterface<CacheRules> {};

// The short ways and the slow ways work on the same magazines; nearly all calls are served by the short ones.
TEST_P(LeverRulesTest, TheShortWaysDoWhatTheSlowOnesDo) {
  options.set(OptionIndex::arena_max, 10);
  mine_.attach(true, GetParam());
  other_.attach(true);
  std::mt19937_64 random(7);
  std::vector<std::pair<void*, ClassIndex>> live;
  int taken_in_short = 0;
  int given_in_short = 0;
  int taken = 0;
  int given = 0;
  for (int step = 0; step < 40000; ++step) {
    if (live.empty() || random() % 100 < (step % 4000 < 2000 ? 55 : 45)) {
      const ClassIndex cls = class_for(16 + random() % 500);
      void* slot = nullptr;
      if (random() % 8 == 0) {
        slot = allocate(other_, cls);
      } else {
        ++taken;
        slot = mine_.take_levered(cls);
        if (slot != nullptr) ++taken_in_short;
        if (slot == nullptr) slot = mine_.take_slow(cls);
      }
      ASSERT_TRUE(is_live(slot, cls)) << "handed out once";
      live.emplace_back(slot, cls);
    } else {
      std::swap(live[random() % live.size()], live.back());
      const auto [slot, cls] = live.back();
      live.pop_back();
      ++given;
      if (mine_.give_levered(slot, cls)) {
        ++given_in_short;
      } else {
        ASSERT_TRUE(is_live(slot, cls)) << "a refused slot is as it was";
        ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
      }
      ASSERT_EQ(mark_of(slot, cls), GranuleByte::cached(cls));
    }
  }
  EXPECT_GT(taken_in_short * 10, taken * 9);
  EXPECT_GT(given_in_short * 10, given * 9);
  for (const auto& [slot, cls] : live) ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
  EXPECT_EQ(mine_.end(), nullptr);
  EXPECT_EQ(other_.end(), nullptr);
  registry.for_each([](Arena& arena) {
    arena.check_invariants();
    EXPECT_EQ(arena.figures().cached_slots, 0U) << "nothing is left behind";
  });
}

INSTANTIATE_TEST_SUITE_P(Each, LeverRulesTest,
                         ::testing::Values(CacheRules{.lever = true}, CacheRules{.lever = true, .random = true},
                                           CacheRules{.lever = true, .quarantine = true}, kAllRules));

TEST_F(LeverTest, RefusesWhatTheStoreDoesNotHave) {
  mine_.attach(true, kAllRules);
  EXPECT_EQ(mine_.take_levered(cls_), nullptr) << "nothing was refilled yet";
}

TEST_F(LeverTest, RefusesWhatTheMagazineHasNoRoomFor) {
  mine_.attach(true, {.lever = true});
  void* const slot = mine_.take_slow(cls_);
  ASSERT_NE(mine_.take_slow(cls_), nullptr);
  while (mine_.take_levered(cls_) != nullptr) {
  }
  store().set_capacity(cls_, 0);
  EXPECT_FALSE(mine_.give_levered(slot, cls_)) << "no room";
  EXPECT_TRUE(is_live(slot, cls_));
}

TEST_F(LeverTest, RefusesWhileSomebodyElseHasTheStore) {
  mine_.attach(true, {.lever = true});
  void* const live = mine_.take_slow(cls_);
  put_one(cls_);
  StoreUse& use = store().use;
  for (bool* const flag : {&use.busy, &use.draining, &use.has_holes}) {
    *flag = true;
    EXPECT_EQ(mine_.take_levered(cls_), nullptr);
    EXPECT_FALSE(mine_.give_levered(live, cls_));
    EXPECT_EQ(use.busy, flag == &use.busy) << "as it was";
    *flag = false;
  }
  use.asked = true;
  EXPECT_FALSE(mine_.give_levered(live, cls_)) << "give_slow() gives everything home";
  use.asked = false;
  EXPECT_NE(mine_.take_levered(cls_), nullptr);
  EXPECT_TRUE(mine_.give_levered(live, cls_));
  EXPECT_FALSE(use.busy);
}

TEST_F(LeverTest, NothingIsTakenFromAContainedArena) {
  mine_.attach(true, {.lever = true});
  put_one(cls_);
  mine_.arena()->contain();
  EXPECT_EQ(mine_.take_levered(cls_), nullptr);
}

// A slot in the quarantine whose mark somebody has changed is left to give_slow(), which tells of it.
TEST_F(LeverTest, ASlotThatWasTakenFromTheQuarantineIsNotKept) {
  mine_.attach(true, {.lever = true, .quarantine = true});
  void* const first = mine_.take_slow(cls_);
  std::vector<void*> slots;
  for (std::size_t i = 0; i < Quarantine::kCapacity; ++i) slots.push_back(mine_.take_slow(cls_));
  ASSERT_EQ(mine_.give_slow(first, cls_, lookup_heap(first).arena()), nullptr);
  for (std::size_t i = 0; i + 1 < Quarantine::kCapacity; ++i) ASSERT_TRUE(mine_.give_levered(slots[i], cls_));
  set_mark(first, cls_, GranuleByte::free(cls_));
  EXPECT_FALSE(mine_.give_levered(slots.back(), cls_));
  EXPECT_EQ(mine_.give_slow(slots.back(), cls_, lookup_heap(slots.back()).arena()), first);
}

// Which slot is next is decided when the one before is taken; what is freed in between does not take its place.
TEST_F(LeverTest, AFreedSlotIsNotTheNext) {
  mine_.attach(true, {.lever = true, .random = true});
  std::vector<void*> slots;
  for (int i = 0; i < 30; ++i) slots.push_back(mine_.take_slow(cls_));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(mine_.give_levered(slots[static_cast<std::size_t>(i)], cls_));
  int same = 0;
  for (int i = 0; i < 200; ++i) {
    void* const slot = mine_.take_levered(cls_);
    ASSERT_TRUE(mine_.give_levered(slot, cls_));
    void* const next = mine_.take_levered(cls_);
    if (next == slot) ++same;
    ASSERT_TRUE(mine_.give_levered(next, cls_));
  }
  EXPECT_EQ(same, 0);
}

// Sampling refuses a slot now and then, and only asks once for each.
TEST_F(LeverTest, OneOfSoManySlotsIsSampled) {
  constexpr std::uint32_t kInterval = 50;
  mine_.attach(true, {.lever = true, .sample_interval = kInterval});
  EXPECT_FALSE(mine_.is_sample_due());
  put_one(cls_);
  int due = 0;
  int shortest = 1000;
  int longest = 0;
  int since = 0;
  for (int i = 0; i < 20000; ++i, ++since) {
    void* const slot = mine_.take_levered(cls_);
    if (slot == nullptr) {
      ASSERT_TRUE(mine_.is_sample_due()) << "nothing else is odd";
      ASSERT_FALSE(mine_.is_sample_due());
      if (due++ != 0) {
        shortest = std::min(shortest, since);
        longest = std::max(longest, since);
      }
      since = 0;
    } else {
      ASSERT_TRUE(mine_.give_levered(slot, cls_) || mine_.give_slow(slot, cls_, mine_.arena()->id()) == nullptr);
    }
  }
  EXPECT_NEAR(due, 20000 / kInterval, 40);
  EXPECT_GE(shortest, static_cast<int>(kInterval / 2));
  EXPECT_LE(longest, static_cast<int>(kInterval * 3 / 2 + 1));
  EXPECT_GT(longest, shortest + 10) << "not always the same";
}

}  // namespace
}  // namespace arenite
