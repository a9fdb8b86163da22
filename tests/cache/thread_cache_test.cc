#include "cache/thread_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "arena/registry.h"
#include "cache/cache_use.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "policy/options.h"

namespace arenite {
namespace {

GranuleByte byte_of(void* slot) { return Heap::of(slot).map().get(Heap::of(slot).granule_of(slot)); }

ArenaFigures all_figures() {
  ArenaFigures sum;
  registry.for_each([&](Arena& arena) {
    const ArenaFigures figures = arena.figures();
    sum.live_slots += figures.live_slots;
    sum.cached_slots += figures.cached_slots;
    sum.free_slots += figures.free_slots;
  });
  return sum;
}

void check_all_arenas() {
  registry.check_invariants();
  registry.for_each([](Arena& arena) { arena.check_invariants(); });
}

class ThreadCacheTest : public ::testing::Test {
 protected:
  // Two threads, as far as the library can tell.
  const fake::FreshProcess process_;
  ThreadCache mine_;
  ThreadCache other_;
};

TEST_F(ThreadCacheTest, ANewCacheRefusesEverythingTheFastWay) {
  int local = 0;
  EXPECT_TRUE(mine_.is_new());
  for (unsigned cls = 0; cls <= kClassCount; ++cls) EXPECT_EQ(mine_.take(cls, 4), nullptr);
  for (void* const pointer : {static_cast<void*>(nullptr), static_cast<void*>(&local), pointer_at(UINTPTR_MAX)}) {
    EXPECT_FALSE(mine_.give(pointer));
  }
}

TEST_F(ThreadCacheTest, SlotsOfEveryClassComeMarkedLiveAndGoMarkedCached) {
  mine_.attach(true);
  EXPECT_FALSE(mine_.is_new());
  ASSERT_NE(mine_.arena(), nullptr);
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    EXPECT_EQ(mine_.take(cls, granule_bits(size_class({cls}).kind)), nullptr) << "the magazine is empty at first";
    void* const slot = mine_.take_slow({cls});
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(byte_of(slot), GranuleByte::live({cls}));
    EXPECT_EQ(lookup_heap(slot).arena(), mine_.arena()->id());
    std::memset(slot, 0xff, size_class({cls}).slot_size);
    ASSERT_TRUE(mine_.give(slot));
    EXPECT_EQ(byte_of(slot), GranuleByte::cached({cls}));
    EXPECT_FALSE(mine_.give(slot)) << "twice";
    EXPECT_EQ(mine_.take(cls, granule_bits(size_class({cls}).kind)), slot) << "the last freed comes first";
    EXPECT_EQ(byte_of(slot), GranuleByte::live({cls}));
  }
  check_all_arenas();
}

TEST_F(ThreadCacheTest, ARefillHandsOutTheLowestFirst) {
  mine_.attach(true);
  for (const std::size_t size : {std::size_t{16}, std::size_t{300}, std::size_t{5000}}) {
    const ClassIndex cls = class_for(size);
    std::uintptr_t last = 0;
    for (std::size_t index = 0; index < size_class(cls).batch; ++index) {
      void* const slot = allocate(mine_, cls);
      EXPECT_GT(address_of(slot), last);
      last = address_of(slot);
    }
    EXPECT_EQ(mine_.take(cls.value, granule_bits(size_class(cls).kind)), nullptr) << "exactly one batch";
  }
}

TEST_F(ThreadCacheTest, WhatIsNoLiveSlotOfTheArenaIsRefusedAndNotTouched) {
  mine_.attach(true);
  other_.attach(true);
  ASSERT_NE(mine_.arena(), other_.arena());
  const ClassIndex cls = class_for(320);
  auto* const slot = static_cast<char*>(allocate(mine_, cls));
  void* const foreign = allocate(other_, cls);
  void* const run = mine_.take_run({3}, {1}, true).pointer;
  for (std::ptrdiff_t offset = 1; offset < 320; ++offset) EXPECT_FALSE(mine_.give(slot + offset)) << offset;
  EXPECT_FALSE(mine_.give(foreign));
  EXPECT_FALSE(mine_.give(run));
  EXPECT_FALSE(mine_.give(&Heap::of(slot)));
  EXPECT_FALSE(mine_.give(pointer_at(address_of(slot) + (std::uintptr_t{1} << kPlatform.address_bits))));
  EXPECT_EQ(byte_of(slot), GranuleByte::live(cls));
  EXPECT_EQ(byte_of(foreign), GranuleByte::live(cls));
  EXPECT_TRUE(mine_.give(slot));
}

TEST_F(ThreadCacheTest, GiveIfAsksWithTheClass) {
  mine_.attach(true);
  const ClassIndex cls = class_for(100);
  void* const slot = allocate(mine_, cls);
  std::size_t asked = 0;
  EXPECT_FALSE(mine_.give_if(slot, [&](std::size_t seen) {
    asked = seen;
    return false;
  }));
  EXPECT_EQ(asked, cls.value);
  EXPECT_EQ(byte_of(slot), GranuleByte::live(cls));
  EXPECT_TRUE(mine_.give_if(slot, [](std::size_t) { return true; }));
}

TEST_F(ThreadCacheTest, AFullMagazineGivesItsOldestHalfBack) {
  mine_.attach(true);
  for (const std::size_t size : {std::size_t{64}, std::size_t{32_KiB}}) {
    const ClassIndex cls = class_for(size);
    const std::size_t capacity = size_class(cls).magazine_capacity;
    std::vector<void*> slots;
    for (std::size_t index = 0; index < 3 * capacity; ++index) slots.push_back(allocate(mine_, cls));
    std::size_t given = 0;
    while (mine_.give(slots[given])) ++given;
    EXPECT_GE(given + size_class(cls).batch, capacity) << "some may have been there";
    EXPECT_LE(given, capacity);
    EXPECT_EQ(mine_.give_slow(slots[given], cls, mine_.arena()->id()), nullptr);
    // Now the newest half and this one are there, in their order.
    for (std::size_t index = 0; index <= capacity / 2; ++index) {
      void* const slot = mine_.take(cls.value, granule_bits(size_class(cls).kind));
      EXPECT_TRUE(index > given || slot == slots[given - index]);
    }
    EXPECT_EQ(mine_.take(cls.value, granule_bits(size_class(cls).kind)), nullptr);
    check_all_arenas();
  }
}

TEST_F(ThreadCacheTest, FlushTakesEverythingHome) {
  mine_.attach(true);
  std::mt19937_64 random(1);
  std::vector<void*> slots;
  for (int i = 0; i < 2000; ++i)
    slots.push_back(allocate(mine_, {static_cast<std::uint8_t>(1 + random() % kClassCount)}));
  for (void* const slot : slots) EXPECT_EQ(deallocate(mine_, slot), nullptr);
  EXPECT_EQ(all_figures().live_slots, 0U);
  EXPECT_EQ(mine_.flush(), nullptr);
  mine_.arena()->trim(0);
  check_all_arenas();
  EXPECT_EQ(all_figures().cached_slots, 0U);
  EXPECT_EQ(all_figures().free_slots, 0U) << "no span is left";
  void* const again = allocate(mine_, {1});
  EXPECT_TRUE(mine_.give(again)) << "the magazines stay open";
}

TEST_F(ThreadCacheTest, SlotsOfOtherArenasGoHome) {
  mine_.attach(true);
  other_.attach(true);
  const ClassIndex cls = class_for(48);
  std::vector<void*> slots;
  for (std::size_t i = 0; i <= RemoteBuffer::kCapacity; ++i) slots.push_back(allocate(mine_, cls));
  for (std::size_t i = 0; i < RemoteBuffer::kCapacity; ++i) {
    EXPECT_EQ(deallocate(other_, slots[i]), nullptr);
    EXPECT_EQ(byte_of(slots[i]), GranuleByte::cached(cls)) << "so freeing it again is caught";
    EXPECT_FALSE(mine_.give(slots[i]));
  }
  EXPECT_EQ(deallocate(other_, slots.back()), nullptr) << "the buffer was full";
  EXPECT_EQ(mine_.flush(), nullptr);
  mine_.arena()->trim(0);
  EXPECT_EQ(mine_.arena()->figures().cached_slots, 1U) << "only the last is still on its way";
  EXPECT_EQ(other_.flush(), nullptr);
  mine_.arena()->trim(0);
  EXPECT_EQ(mine_.arena()->figures().cached_slots, 0U);
  EXPECT_EQ(other_.arena()->figures().cached_slots, 0U);
  check_all_arenas();
}

TEST_F(ThreadCacheTest, ARefusedSlotIsToldAndTheOthersGoHome) {
  mine_.attach(true);
  other_.attach(true);
  const ClassIndex cls = class_for(48);
  void* const a = allocate(mine_, cls);
  void* const b = allocate(mine_, cls);
  // Both threads free `a` at the same time: each has seen it live.
  EXPECT_EQ(deallocate(other_, a), nullptr);
  EXPECT_EQ(deallocate(other_, b), nullptr);
  Heap::of(a).map().set(Heap::of(a).granule_of(a), GranuleByte::live(cls));
  EXPECT_TRUE(mine_.give(a));
  EXPECT_EQ(allocate(mine_, cls), a) << "it is in use again";
  EXPECT_EQ(other_.flush(), a);
  EXPECT_EQ(byte_of(a), GranuleByte::live(cls));
  EXPECT_NE(byte_of(b), GranuleByte::live(cls));
  check_all_arenas();
}

TEST_F(ThreadCacheTest, TheEndDetachesAndLeavesNothingCached) {
  mine_.attach(true);
  Arena* const arena = mine_.arena();
  void* const kept = allocate(mine_, class_for(100));
  EXPECT_EQ(deallocate(mine_, allocate(mine_, class_for(2000))), nullptr);
  EXPECT_EQ(mine_.end(), nullptr);
  EXPECT_EQ(mine_.arena(), nullptr);
  EXPECT_EQ(arena->registered.attached, 0U);
  arena->trim(0);
  EXPECT_EQ(arena->figures().cached_slots, 0U);
  EXPECT_FALSE(mine_.is_new()) << "no cache is built again that nobody would give back";
  // Late destructors still use the heap.
  EXPECT_FALSE(mine_.give(kept));
  EXPECT_EQ(deallocate(mine_, kept), nullptr);
  void* const late = allocate(mine_, class_for(100));
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(deallocate(mine_, late), nullptr);
  EXPECT_NE(mine_.take_run({2}, {1}, true).pointer, nullptr);
  EXPECT_EQ(mine_.flush(), nullptr);
  EXPECT_EQ(mine_.end(), nullptr);
  EXPECT_EQ(arena->registered.attached, 0U);
  other_.attach(true);
  EXPECT_EQ(other_.arena(), arena) << "the next thread takes the arena";
  check_all_arenas();
}

TEST_F(ThreadCacheTest, AStoreOfAnEndedThreadServesTheNext) {
  options.set(OptionIndex::arena_max, 10);
  for (int round = 0; round < 20; ++round) {
    ThreadCache cache;
    cache.attach(true);
    std::vector<void*> slots;
    for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
      for (int i = 0; i < 5; ++i) slots.push_back(allocate(cache, {cls}));
    }
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), slots.size());
    for (void* const slot : slots) EXPECT_EQ(deallocate(cache, slot), nullptr);
    EXPECT_EQ(cache.end(), nullptr);
  }
  EXPECT_EQ(registry.count(), 1U);
  EXPECT_EQ(fake::calls(fake::Call::kMap), 2U) << "one arena, one store";
}

TEST_F(ThreadCacheTest, WithoutMagazinesEveryCallGoesToTheArena) {
  mine_.attach(false);
  ASSERT_NE(mine_.arena(), nullptr);
  std::vector<void*> slots;
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    slots.push_back(allocate(mine_, {cls}));
    EXPECT_FALSE(mine_.give(slots.back()));
  }
  EXPECT_EQ(mine_.arena()->figures().cached_slots, 0U);
  for (void* const slot : slots) {
    EXPECT_EQ(deallocate(mine_, slot), nullptr);
    EXPECT_EQ(mine_.take(find_block(slot).byte.cls().value, 4), nullptr);
  }
  EXPECT_EQ(mine_.flush(), nullptr);
  EXPECT_NE(mine_.take_run({2}, {1}, true).pointer, nullptr);
  EXPECT_EQ(mine_.end(), nullptr);
  check_all_arenas();
}

TEST_F(ThreadCacheTest, AThreadWithoutCacheBorrowsAnArena) {
  void* const slot = mine_.take_slow(class_for(10));
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(mine_.arena(), nullptr);
  EXPECT_TRUE(mine_.is_new());
  EXPECT_EQ(registry.find({1})->registered.attached, 0U) << "for the one call";
  EXPECT_EQ(deallocate(mine_, slot), nullptr);
  check_all_arenas();
}

TEST_F(ThreadCacheTest, TheThreadMovesAwayFromAContainedArena) {
  options.set(OptionIndex::arena_max, 10);
  for (const bool cached : {true, false}) {
    ThreadCache cache;
    cache.attach(cached);
    Arena* const contained = cache.arena();
    const ClassIndex cls = class_for(64);
    void* const live = allocate(cache, cls);
    EXPECT_EQ(deallocate(cache, allocate(cache, cls)), nullptr);
    contained->contain();
    const ClassIndex fresh = class_for(1000);
    void* const slot = allocate(cache, fresh);
    ASSERT_NE(slot, nullptr);
    EXPECT_NE(cache.arena(), contained);
    EXPECT_EQ(lookup_heap(slot).arena(), cache.arena()->id());
    EXPECT_EQ(cache.take(cls.value, granule_bits(size_class(cls).kind)), nullptr)
        << "nothing of the contained arena is left";
    EXPECT_EQ(deallocate(cache, live), nullptr) << "dropped";
    EXPECT_EQ(deallocate(cache, slot), nullptr);
    EXPECT_NE(cache.take_run({2}, {1}, true).pointer, nullptr);
    EXPECT_EQ(cache.end(), nullptr);
    registry.check_invariants();
  }
}

TEST_F(ThreadCacheTest, ADamagedStoreIsLeftWithItsArena) {
  options.set(OptionIndex::arena_max, 10);
  mine_.attach(true);
  const ClassIndex cls = class_for(64);
  EXPECT_EQ(deallocate(mine_, allocate(mine_, cls)), nullptr);
  Arena* const before = mine_.arena();
  store_pool.for_each_used([](MagazineStore& store) { std::memset(static_cast<void*>(&store), 0x41, 16); });
  void* const slot = allocate(mine_, class_for(1000));
  ASSERT_NE(slot, nullptr);
  EXPECT_TRUE(before->contained());
  EXPECT_NE(lookup_heap(slot).arena(), before->id());
  FoundDamage found;
  ASSERT_TRUE(damage_log.take(&found));
  EXPECT_EQ(found.kind, Damage::kMagazine);
  EXPECT_EQ(deallocate(mine_, slot), nullptr);
  EXPECT_EQ(mine_.end(), nullptr);
  store_pool.for_each_used([](MagazineStore&) { FAIL() << "the damaged store is not visited"; });
}

class SlowLeverTest : public ThreadCacheTest, public ::testing::WithParamInterface<CacheRules> {};

// Whatever the rules are, the cache gives and takes as without them; only the fast paths never do.
TEST_P(SlowLeverTest, TheCacheWorksWithoutTheFastPaths) {
  options.set(OptionIndex::arena_max, 10);
  mine_.attach(true, GetParam());
  other_.attach(true);
  std::mt19937_64 random(3);
  std::vector<std::pair<void*, ClassIndex>> live;
  for (int step = 0; step < 30000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      const ClassIndex cls = class_for(16 + random() % 3000);
      ASSERT_EQ(mine_.take(cls.value, granule_bits(size_class(cls).kind)), nullptr) << "the fast path takes nothing";
      void* const slot = random() % 4 == 0 ? allocate(other_, cls) : mine_.take_slow(cls);
      ASSERT_NE(slot, nullptr);
      ASSERT_EQ(byte_of(slot), GranuleByte::live(cls)) << "handed out once";
      live.emplace_back(slot, cls);
    } else {
      std::swap(live[random() % live.size()], live.back());
      const auto [slot, cls] = live.back();
      live.pop_back();
      ASSERT_FALSE(mine_.give(slot));
      ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
      ASSERT_FALSE(byte_of(slot).is_live());
    }
    if (step % 5000 == 4999) {
      EXPECT_EQ(mine_.flush(), nullptr);
    }
  }
  for (const auto& [slot, cls] : live) {
    ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
  }
  EXPECT_EQ(mine_.end(), nullptr);
  EXPECT_EQ(other_.end(), nullptr);
  check_all_arenas();
  registry.for_each([](Arena& arena) { EXPECT_EQ(arena.figures().cached_slots, 0U) << "nothing is left behind"; });
}

INSTANTIATE_TEST_SUITE_P(Each, SlowLeverTest,
                         ::testing::Values(CacheRules{.lever = true}, CacheRules{.lever = true, .random = true},
                                           CacheRules{.lever = true, .random = true, .quarantine = true}));

TEST_F(ThreadCacheTest, AQuarantinedSlotDoesNotComeBackSoon) {
  mine_.attach(true, {.lever = true, .quarantine = true});
  const ClassIndex cls = class_for(64);
  void* const freed = mine_.take_slow(cls);
  ASSERT_EQ(mine_.give_slow(freed, cls, lookup_heap(freed).arena()), nullptr);
  for (std::size_t i = 0; i < Quarantine::kCapacity - 1; ++i) {
    void* const slot = mine_.take_slow(cls);
    ASSERT_NE(slot, freed);
    ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
  }
  bool again = false;
  for (int i = 0; i < 2000 && !again; ++i) {
    void* const slot = mine_.take_slow(cls);
    again = slot == freed;
    ASSERT_EQ(mine_.give_slow(slot, cls, lookup_heap(slot).arena()), nullptr);
  }
  EXPECT_TRUE(again) << "it comes back at last";
}

TEST_F(ThreadCacheTest, ChanceChoosesAmongTheFreeSlots) {
  mine_.attach(true, {.lever = true, .random = true});
  const ClassIndex cls = class_for(64);
  int in_order = 0;
  const void* before = mine_.take_slow(cls);
  for (int i = 0; i < 60; ++i) {
    const void* const slot = mine_.take_slow(cls);
    if (slot == static_cast<const char*>(before) + 64) ++in_order;
    before = slot;
  }
  EXPECT_LT(in_order, 15);
}

TEST_F(ThreadCacheTest, RunsOfAContainedArenaAreNotTaken) {
  options.set(OptionIndex::arena_max, 10);
  mine_.attach(true);
  mine_.arena()->contain();
  void* const run = mine_.take_run({2}, {1}, true).pointer;
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(lookup_heap(run).arena(), mine_.arena()->id());
  EXPECT_FALSE(mine_.arena()->contained());
}

TEST_F(ThreadCacheTest, WhereAllArenasAreContainedTheThreadGoesOnWithout) {
  options.set(OptionIndex::arena_max, 2);
  mine_.attach(true);
  other_.attach(true);
  const ClassIndex cls = class_for(64);
  void* const foreign = allocate(other_, cls);
  EXPECT_EQ(deallocate(mine_, foreign), nullptr);  // in the remote buffer
  mine_.arena()->contain();
  other_.arena()->contain();
  EXPECT_EQ(allocate(mine_, cls), nullptr);
  EXPECT_EQ(mine_.take_run({2}, {1}, true).pointer, nullptr);
  EXPECT_EQ(mine_.arena(), nullptr);
  EXPECT_EQ(mine_.end(), nullptr);
  MagazineStore* const store = store_pool.take();
  EXPECT_TRUE(store->remote.empty()) << "what the pool gives has an empty remote buffer";
}

TEST_F(ThreadCacheTest, WhereTheOwnArenaCannotServeOthersAreAsked) {
  options.set(OptionIndex::arena_max, 10);
  const ClassIndex cls = class_for(64);
  other_.attach(true);
  EXPECT_EQ(deallocate(other_, allocate(other_, cls)), nullptr);
  EXPECT_EQ(other_.flush(), nullptr);
  mine_.attach(true);
  fake::fail_all(fake::Call::kReserve);
  fake::fail_all(fake::Call::kCommit);
  void* const slot = allocate(mine_, cls);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(lookup_heap(slot).arena(), other_.arena()->id());
  EXPECT_EQ(deallocate(mine_, slot), nullptr);
  fake::allow_all();
  check_all_arenas();
}

// Attach and first use with the n-th call refused, for every n; and with all calls of a kind refused.
TEST_F(ThreadCacheTest, ARefusalAtAnyCallIsSurvived) {
  const auto use = [](ThreadCache& cache) {
    if (cache.is_new()) cache.attach(true);
    std::vector<void*> slots;
    for (const std::size_t size : {std::size_t{16}, std::size_t{400}, std::size_t{9000}}) {
      for (int i = 0; i < 70; ++i) {
        if (void* const slot = allocate(cache, class_for(size)); slot != nullptr) {
          EXPECT_EQ(find_block(slot).kind, BlockKind::kSlot);
          slots.push_back(slot);
        }
      }
    }
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), slots.size());
    for (void* const slot : slots) EXPECT_EQ(deallocate(cache, slot), nullptr);
    check_all_arenas();
    return slots.size();
  };
  for (std::size_t n = 1;; ++n) {
    const fake::FreshProcess process;
    ThreadCache cache;
    fake::fail_call(n);
    EXPECT_GE(use(cache), 209U) << "one refusal costs one request at the most";
    const bool refused = fake::refused();
    fake::allow_all();
    EXPECT_EQ(use(cache), 210U);
    EXPECT_EQ(cache.end(), nullptr);
    if (!refused) break;
  }
  for (std::size_t kind = 0; kind < fake::kCalls; ++kind) {
    const fake::FreshProcess process;
    ThreadCache cache;
    fake::fail_all(static_cast<fake::Call>(kind));
    use(cache);
    fake::allow_all();
    EXPECT_EQ(use(cache), 210U);
    EXPECT_EQ(cache.end(), nullptr);
  }
}

TEST_F(ThreadCacheTest, RandomUseOfSeveralCachesLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<ThreadCache> caches(3);
    for (ThreadCache& cache : caches) cache.attach(true);
    std::vector<std::pair<void*, ClassIndex>> live;
    std::set<void*> addresses;
    for (int step = 0; step < 30000; ++step) {
      ThreadCache& cache = caches[random() % caches.size()];
      if (live.empty() || (live.size() < 3000 && random() % 2 == 0)) {
        const ClassIndex cls{static_cast<std::uint8_t>(1 + random() % kClassCount)};
        void* const slot = allocate(cache, cls);
        ASSERT_TRUE(addresses.insert(slot).second);
        ASSERT_EQ(byte_of(slot), GranuleByte::live(cls));
        live.emplace_back(slot, cls);
      } else {
        std::swap(live[random() % live.size()], live.back());
        ASSERT_EQ(deallocate(cache, live.back().first), nullptr);
        ASSERT_EQ(byte_of(live.back().first).is_live(), false);
        addresses.erase(live.back().first);
        live.pop_back();
      }
      if (step % 5000 == 0) {
        check_all_arenas();
        EXPECT_EQ(cache.flush(), nullptr);
      }
    }
    for (const auto& [slot, cls] : live) EXPECT_EQ(deallocate(caches[0], slot), nullptr);
    for (ThreadCache& cache : caches) EXPECT_EQ(cache.end(), nullptr);
    registry.for_each([](Arena& arena) { arena.trim(0); });
    check_all_arenas();
    EXPECT_EQ(all_figures().live_slots + all_figures().cached_slots + all_figures().free_slots, 0U);
  }
}

// Real threads, each with its own cache, that free each other's slots.
TEST_F(ThreadCacheTest, ThreadsFreeEachOthersSlots) {
  constexpr std::size_t kThreads = 4;
  options.set(OptionIndex::arena_max, 3);  // two of them share
  std::vector<std::vector<void*>> slots(kThreads);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        ThreadCache& cache = ThreadCache::current();
        cache.attach(true);
        std::mt19937_64 random(i);
        for (int n = 0; n < 3000; ++n) {
          const ClassIndex cls{static_cast<std::uint8_t>(1 + random() % 30)};
          void* const slot = allocate(cache, cls);
          std::memset(slot, static_cast<int>(i), size_class(cls).slot_size);
          if (random() % 2 == 0) {
            EXPECT_EQ(deallocate(cache, slot), nullptr);
          } else {
            slots[i].push_back(slot);
          }
        }
        EXPECT_EQ(cache.end(), nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        ThreadCache& cache = ThreadCache::current();
        cache.attach(true);
        for (void* const slot : slots[(i + 1) % kThreads]) EXPECT_EQ(deallocate(cache, slot), nullptr);
        EXPECT_EQ(cache.end(), nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& list : slots) list.clear();
    registry.for_each([](Arena& arena) { arena.trim(0); });
    check_all_arenas();
    EXPECT_EQ(all_figures().live_slots + all_figures().cached_slots, 0U);
    EXPECT_LE(registry.count(), 3U);
  }
}

}  // namespace
}  // namespace arenite
