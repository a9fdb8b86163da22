#include "arena/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "fake/memory.h"
#include "fake/process.h"
#include "os/processors.h"
#include "policy/options.h"

namespace arenite {
namespace {

class RegistryTest : public ::testing::Test {
 protected:
  Arena* attach() {
    Arena* const arena = registry_->attach();
    registry_->check_invariants();
    return arena;
  }
  void detach(Arena* arena) {
    registry_->detach(*arena);
    registry_->check_invariants();
  }

  const fake::FreshProcess process_;
  const std::unique_ptr<Registry> registry_ = std::make_unique<Registry>();
};

TEST_F(RegistryTest, EachThreadGetsAnArenaOfItsOwnBelowTheLimit) {
  options.set(OptionIndex::arena_max, 5);
  std::set<Arena*> arenas;
  for (int i = 0; i < 5; ++i) arenas.insert(attach());
  EXPECT_EQ(arenas.size(), 5U);
  EXPECT_EQ(registry_->count(), 5U);
  for (Arena* const arena : arenas) EXPECT_EQ(registry_->find(arena->id()), arena);
}

TEST_F(RegistryTest, AtTheLimitTheLeastUsedArenaIsShared) {
  options.set(OptionIndex::arena_max, 3);
  std::map<Arena*, int> threads;
  for (int i = 0; i < 30; ++i) ++threads[attach()];
  EXPECT_EQ(threads.size(), 3U);
  for (const auto& [arena, count] : threads) EXPECT_EQ(count, 10);
  Arena* const least = threads.begin()->first;
  detach(least);
  detach(least);
  EXPECT_EQ(attach(), least);
  EXPECT_EQ(attach(), least);
}

TEST_F(RegistryTest, AFinishedThreadsArenaIsUsedAgainFirst) {
  options.set(OptionIndex::arena_max, 100);
  Arena* const first = attach();
  Arena* const second = attach();
  detach(first);
  EXPECT_EQ(attach(), first);
  detach(second);
  detach(first);
  const std::set<Arena*> again{attach(), attach()};
  EXPECT_EQ(again, (std::set<Arena*>{first, second}));
  EXPECT_EQ(registry_->count(), 2U);
}

TEST_F(RegistryTest, ThereAreNeverMoreArenasThanThreadsAtATime) {
  options.set(OptionIndex::arena_max, 64);
  std::mt19937_64 random(1);
  std::vector<Arena*> attached;
  std::size_t most = 0;
  for (int step = 0; step < 3000; ++step) {
    if (attached.empty() || (attached.size() < 40 && random() % 2 == 0)) {
      attached.push_back(attach());
      most = std::max(most, attached.size());
    } else {
      std::swap(attached[random() % attached.size()], attached.back());
      detach(attached.back());
      attached.pop_back();
    }
    ASSERT_EQ(registry_->count(), most);
    ASSERT_EQ(std::set<Arena*>(attached.begin(), attached.end()).size(), attached.size())
        << "nobody shares below the limit";
  }
}

TEST_F(RegistryTest, TheLimitFollowsTheProcessorsAndArenaTest) {
  const std::size_t by_processors = 4 * os::processor_count();
  const auto arenas_of_many_threads = [] {
    const auto registry = std::make_unique<Registry>();
    for (int i = 0; i < 1500; ++i) registry->attach();
    return registry->count();
  };
  EXPECT_EQ(arenas_of_many_threads(), std::clamp<std::size_t>(by_processors, 8, kMaxArenas));
  options.set(OptionIndex::arena_test, by_processors + 3);
  EXPECT_EQ(arenas_of_many_threads(), std::min<std::size_t>(by_processors + 3, kMaxArenas));
  options.set(OptionIndex::arena_test, SIZE_MAX);
  EXPECT_EQ(arenas_of_many_threads(), kMaxArenas);
  options.set(OptionIndex::arena_max, 1);
  EXPECT_EQ(arenas_of_many_threads(), 1U);
  options.set(OptionIndex::arena_max, SIZE_MAX);
  EXPECT_EQ(arenas_of_many_threads(), kMaxArenas);
}

TEST_F(RegistryTest, NumbersBeyondTheCountAreNobodys) {
  options.set(OptionIndex::arena_max, 2);
  EXPECT_EQ(registry_->find({1}), nullptr);
  attach();
  EXPECT_NE(registry_->find({1}), nullptr);
  EXPECT_EQ(registry_->find({0}), nullptr);
  EXPECT_EQ(registry_->find({2}), nullptr);
  EXPECT_EQ(registry_->find({UINT16_MAX}), nullptr);
}

TEST_F(RegistryTest, WhereNoArenaCanBeMadeOneIsShared) {
  options.set(OptionIndex::arena_max, 10);
  fake::fail_all(fake::Call::kMap);
  EXPECT_EQ(attach(), nullptr);
  fake::allow_all();
  Arena* const arena = attach();
  ASSERT_NE(arena, nullptr);
  fake::fail_all(fake::Call::kMap);
  EXPECT_EQ(attach(), arena);
  fake::allow_all();
  EXPECT_NE(attach(), arena);
}

TEST_F(RegistryTest, AContainedArenaIsNotGivenOut) {
  options.set(OptionIndex::arena_max, 2);
  Arena* const contained = attach();
  Arena* const sound = attach();
  contained->contain();
  registry_->check_invariants();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(attach(), sound);
  detach(contained);
  EXPECT_FALSE(contained->registered.on_free_list);
  EXPECT_EQ(attach(), sound);
  sound->contain();
  EXPECT_EQ(attach(), nullptr) << "the limit is reached, and all are contained";
}

// An arena can be contained while it waits on the free list: by the child of a fork that caught another thread inside
// it.
TEST_F(RegistryTest, AnArenaContainedOnTheFreeListIsPassedOver) {
  options.set(OptionIndex::arena_max, 3);
  Arena* const first = attach();
  Arena* const second = attach();
  detach(second);
  detach(first);
  first->contain();
  EXPECT_EQ(attach(), second);
  EXPECT_NE(attach(), first);
}

// The links say nothing that the arenas do not know themselves.
TEST_F(RegistryTest, ADamagedFreeListIsMadeAnew) {
  options.set(OptionIndex::arena_max, 3);
  Arena* arenas[3];
  for (Arena*& arena : arenas) arena = attach();
  for (Arena* arena : arenas) detach(arena);
  std::memset(static_cast<void*>(&arenas[1]->registered.next_free), 0x41, sizeof(ProtectedPtr<Arena>));
  std::set<Arena*> again;
  for (int i = 0; i < 3; ++i) again.insert(registry_->attach());
  EXPECT_EQ(again, std::set<Arena*>(std::begin(arenas), std::end(arenas)));
  FoundDamage found;
  ASSERT_TRUE(damage_log.take(&found));
  EXPECT_EQ(found.kind, Damage::kLink);
  EXPECT_FALSE(found.whole_arena);
  registry_->check_invariants();
}

TEST_F(RegistryTest, AChildKeepsOnlyItsOwnArena) {
  options.set(OptionIndex::arena_max, 4);
  Arena* arenas[4];
  for (Arena*& arena : arenas) arena = attach();
  attach();  // shares
  detach(arenas[2]);
  arenas[1]->contain();
  registry_->keep_only(arenas[0]);
  registry_->check_invariants();
  const std::set<Arena*> given{attach(), attach()};
  EXPECT_EQ(given, (std::set<Arena*>{arenas[2], arenas[3]}));
  EXPECT_EQ(arenas[0]->registered.attached, 1U);
  registry_->keep_only(nullptr);
  registry_->check_invariants();
  EXPECT_EQ(arenas[0]->registered.attached, 0U);
}

TEST_F(RegistryTest, EveryArenaIsVisitedOnce) {
  options.set(OptionIndex::arena_max, 7);
  for (int i = 0; i < 9; ++i) attach();
  std::vector<std::uint16_t> seen;
  registry_->for_each([&](Arena& arena) { seen.push_back(arena.id().value); });
  EXPECT_EQ(seen, (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(RegistryTest, ThreadsAttachAndDetachAtTheSameTime) {
  options.set(OptionIndex::arena_max, 3);
  std::vector<std::thread> threads;
  std::atomic<bool> failed{false};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        Arena* const arena = registry_->attach();
        if (arena == nullptr || registry_->find(arena->id()) != arena) failed = true;
        registry_->detach(*arena);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed);
  EXPECT_LE(registry_->count(), 3U);
  registry_->check_invariants();
  registry_->for_each([](Arena& arena) { EXPECT_EQ(arena.registered.attached, 0U); });
}

}  // namespace
}  // namespace arenite
