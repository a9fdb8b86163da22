#include "cache/magazine.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include "fake/memory.h"
#include "fake/process.h"

namespace arenite {
namespace {

class MagazineTest : public ::testing::Test {
 protected:
  static void expect_null_below_each(MagazineStore* store) {
    for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) EXPECT_EQ(store->first_entry({cls})[-1], nullptr);
  }

  const fake::FreshProcess process_;
};

TEST_F(MagazineTest, TheClosedMagazineIsEmptyAndFull) {
  EXPECT_EQ(closed_top()[-1], nullptr);
  EXPECT_TRUE(is_full_marker(*closed_top()));
  EXPECT_FALSE(is_full_marker(nullptr));
}

TEST_F(MagazineTest, MagazinesDoNotOverlap) {
  MagazineStore* const store = store_pool.take();
  ASSERT_NE(store, nullptr);
  expect_null_below_each(store);
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    EXPECT_EQ(store->end_entry({cls}), store->first_entry({cls})) << "not open yet";
    store->set_capacity({cls}, size_class({cls}).magazine_capacity);
    EXPECT_EQ(store->end_entry({cls}) - store->first_entry({cls}), size_class({cls}).magazine_capacity);
    for (void** entry = store->first_entry({cls}); entry != store->end_entry({cls}); ++entry) {
      ASSERT_EQ(*entry, nullptr) << "another class has written here";
      *entry = store;
    }
  }
  expect_null_below_each(store);
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) EXPECT_TRUE(is_full_marker(*store->end_entry({cls})));
  EXPECT_LE(store->end_entry({kClassCount}), store->entries + std::size(store->entries) - 1);
}

TEST_F(MagazineTest, ThereIsOneMarkerWhereTheCapacityEnds) {
  MagazineStore* const store = store_pool.take();
  const ClassIndex cls{5};
  void** const first = store->first_entry(cls);
  for (const std::size_t capacity : {254U, 16U, 32U, 1U, 254U}) {
    store->set_capacity(cls, capacity);
    for (std::size_t index = 0; index <= 254; ++index) {
      EXPECT_EQ(is_full_marker(first[index]), index == capacity) << index << " of " << capacity;
    }
  }
}

TEST_F(MagazineTest, StoresAreUsedAgain) {
  MagazineStore* const first = store_pool.take();
  MagazineStore* const second = store_pool.take();
  EXPECT_NE(first, second);
  const std::size_t calls = fake::calls();
  store_pool.give(first);
  store_pool.give(second);
  const std::set<MagazineStore*> again{store_pool.take(), store_pool.take()};
  EXPECT_EQ(again, (std::set<MagazineStore*>{first, second}));
  EXPECT_EQ(fake::calls(), calls);
  for (MagazineStore* const store : again) {
    EXPECT_TRUE(store->remote.empty());
    expect_null_below_each(store);
  }
  EXPECT_NE(store_pool.take(), nullptr);
}

TEST_F(MagazineTest, ARefusalIsNull) {
  fake::fail_all(fake::Call::kMap);
  EXPECT_EQ(store_pool.take(), nullptr);
  EXPECT_EQ(fake::mapped_bytes(), 0U);
  fake::allow_all();
  EXPECT_NE(store_pool.take(), nullptr);
}

TEST_F(MagazineTest, ThreadsShareThePool) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 2000; ++round) {
        MagazineStore* const store = store_pool.take();
        *store->first_entry({1}) = store;  // plain: ThreadSanitizer sees whether two have it at a time
        store_pool.give(store);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(fake::calls(fake::Call::kMap), 4U);
}

}  // namespace
}  // namespace arenite
