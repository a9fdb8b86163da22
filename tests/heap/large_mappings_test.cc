#include "heap/large_mappings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/bits.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {
namespace {

// Mappings beside a plain map, with the first and last word of each written.
class ModelledMappings {
 public:
  explicit ModelledMappings(std::size_t page) : page_(page) {}

  LargeMappings& mappings() { return *mappings_; }
  const std::map<char*, std::size_t>& blocks() const { return blocks_; }

  bool take(std::size_t bytes, std::size_t alignment) {
    auto* const block = static_cast<char*>(mappings_->take(bytes, alignment));
    if (block == nullptr) return false;
    EXPECT_TRUE(is_aligned(address_of(block), alignment > page_ ? alignment : page_));
    const std::size_t length = align_up(bytes == 0 ? 1 : bytes, page_);
    EXPECT_EQ(block[0], 0);
    EXPECT_EQ(block[length - 1], 0);
    EXPECT_TRUE(fake::is_usable(block, length));
    write(block, length);
    EXPECT_TRUE(blocks_.emplace(block, length).second);
    return true;
  }

  void give(char* block) {
    check_content(block, blocks_.at(block));
    EXPECT_EQ(mappings_->give(block), blocks_.at(block));
    blocks_.erase(block);
    EXPECT_EQ(mappings_->give(block), 0U) << "a second time";
  }

  bool resize(char* block, std::size_t bytes) {
    const std::size_t old_length = blocks_.at(block);
    const std::size_t length = align_up(bytes == 0 ? 1 : bytes, page_);
    auto* const moved = static_cast<char*>(mappings_->resize(block, bytes));
    if (moved == nullptr) {
      check_content(block, old_length);
      return false;
    }
    EXPECT_EQ(moved[0], static_cast<char>(old_length / page_));
    if (length >= old_length) {
      EXPECT_EQ(moved[old_length - 1], static_cast<char>(old_length / page_));
    }
    if (length > old_length) {
      EXPECT_EQ(moved[old_length], 0);
    }
    blocks_.erase(block);
    blocks_[moved] = length;
    write(moved, length);
    if (moved != block) {
      EXPECT_EQ(mappings_->find(block).bytes, 0U);
    }
    return true;
  }

  void check() {
    std::size_t bytes = 0;
    for (const auto& [block, length] : blocks_) {
      ASSERT_EQ(mappings_->find(block).bytes, length);
      ASSERT_EQ(mappings_->find(block + page_).bytes,
                blocks_.count(block + page_) != 0 ? blocks_.at(block + page_) : 0);
      ASSERT_TRUE(fake::is_usable(block, length));
      check_content(block, length);
      bytes += length;
    }
    ASSERT_EQ(mappings_->figures().count, blocks_.size());
    ASSERT_EQ(mappings_->figures().bytes, bytes);
    ASSERT_GE(mappings_->figures().max_count, blocks_.size());
    ASSERT_GE(mappings_->figures().max_bytes, bytes);
  }

  char* pick(std::mt19937_64& random) const {
    auto block = blocks_.begin();
    std::advance(block, static_cast<std::ptrdiff_t>(random() % blocks_.size()));
    return block->first;
  }

 private:
  void write(char* block, std::size_t length) const {
    block[0] = block[length - 1] = static_cast<char>(length / page_);
  }
  void check_content(char* block, std::size_t length) const {
    ASSERT_EQ(block[0], static_cast<char>(length / page_));
    ASSERT_EQ(block[length - 1], static_cast<char>(length / page_));
  }

  std::size_t page_;
  std::unique_ptr<LargeMappings> mappings_ = std::make_unique<LargeMappings>();
  std::map<char*, std::size_t> blocks_;
};

class LargeMappingsTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  LargeMappingsTest() { fake::set_page_size(GetParam()); }

  void random_steps(ModelledMappings* model, std::uint64_t seed, int steps, bool fails) {
    std::mt19937_64 random(seed);
    for (int step = 0; step < steps && !HasFatalFailure(); ++step) {
      if (fails && random() % 3 == 0) fake::fail_call(1 + random() % 4);
      const std::size_t bytes = random() % (20 * page_);
      const bool full = model->blocks().size() > 300;
      if (model->blocks().empty() || (!full && random() % 3 == 0)) {
        const std::size_t alignment = random() % 8 == 0 ? page_ << (random() % 6) : 16;
        const bool taken = model->take(bytes, alignment);
        EXPECT_TRUE(taken || fails);
      } else if (random() % 2 == 0) {
        model->give(model->pick(random));
      } else {
        model->resize(model->pick(random), bytes);
      }
      if (step % 8 == 0) model->check();
    }
    fake::allow_all();
    model->check();
  }

  const fake::FreshProcess process_;
  const std::size_t page_ = GetParam();
  ModelledMappings model_{page_};
};

TEST_P(LargeMappingsTest, RandomOperationsAgreeWithAMap) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) random_steps(&model_, seed, 1000, false);
}

TEST_P(LargeMappingsTest, AnySystemCallMayFail) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) random_steps(&model_, seed, 1000, true);
}

TEST_P(LargeMappingsTest, TheTablesGrowWithTheirContent) {
  constexpr std::size_t kMany = 5000;
  LargeMappings& mappings = model_.mappings();
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kMany; ++i) blocks.push_back(mappings.take(1, 1));
  for (void* const block : blocks) ASSERT_EQ(mappings.find(block).bytes, page_);
  std::mt19937_64 random(1);
  std::shuffle(blocks.begin(), blocks.end(), random);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(mappings.give(blocks[i]), page_);
    if (i % 100 == 0) {
      for (std::size_t j = 0; j < kMany; j += 7) ASSERT_EQ(mappings.find(blocks[j]).bytes, j <= i ? 0 : page_);
    }
  }
  EXPECT_EQ(mappings.figures().max_count, kMany);
}

TEST_P(LargeMappingsTest, NothingStaysMappedButTheTables) {
  const auto round = [this] {
    for (int i = 0; i < 400; ++i) model_.take(static_cast<std::size_t>(i) * 1000, 16);
    while (!model_.blocks().empty()) model_.give(model_.blocks().begin()->first);
    return fake::mapped_bytes();
  };
  const std::size_t after_first = round();
  EXPECT_LE(after_first, 17 * 2 * page_ * 4);
  EXPECT_EQ(round(), after_first);
}

// The n-th call refused, for every n: a request leaves nothing behind, and what stood before stands.
TEST_P(LargeMappingsTest, ARefusalAtAnyCallLeavesNothingHalfDone) {
  for (const bool growing : {false, true}) {
    for (std::size_t n = 1;; ++n) {
      ModelledMappings model(page_);
      ASSERT_TRUE(model.take(page_, 16));
      const std::size_t before = fake::mapped_bytes();
      char* const block = model.blocks().begin()->first;
      fake::fail_call(n);
      const bool done = growing ? model.resize(block, 5 * page_) : model.take(5 * page_, 16);
      const bool refused = fake::refused();
      fake::allow_all();
      EXPECT_TRUE(done || refused);
      const std::size_t tables = 3 * (growing ? 16 : 1);  // a block that may move has room in every shard
      EXPECT_LE(fake::mapped_bytes(), before + (done ? 5 + tables : tables) * page_);
      for (const auto& [address, length] : model.blocks()) ASSERT_EQ(model.mappings().find(address).bytes, length);
      while (!model.blocks().empty()) model.give(model.blocks().begin()->first);
      if (!refused) break;
    }
  }
}

TEST_P(LargeMappingsTest, MemoryThatTheSystemWillNotTakeBackIsEmptiedAndReleasedLater) {
  ASSERT_TRUE(model_.take(10 * page_, 16));
  ASSERT_TRUE(model_.take(page_, 16));
  ASSERT_TRUE(model_.take(page_, 16));
  char* large = nullptr;
  for (const auto& [block, length] : model_.blocks()) large = length > page_ ? block : large;
  std::memset(large, 1, 10 * page_);
  fake::fail_all(fake::Call::kRelease);
  EXPECT_EQ(model_.mappings().give(large), 10 * page_) << "for the program it is gone";
  fake::allow_all();
  EXPECT_EQ(model_.mappings().find(large).bytes, 0U);
  EXPECT_EQ(model_.mappings().figures().count, 2U);
  ASSERT_TRUE(fake::is_usable(large, 10 * page_));
  EXPECT_EQ(large[5 * page_], 0) << "its pages went back";
  for (auto block = model_.blocks().begin(); block != model_.blocks().end(); ++block) {
    if (block->first != large) model_.mappings().give(block->first);
  }
  EXPECT_FALSE(fake::is_mapped(large, page_)) << "later gives release it";
}

TEST_P(LargeMappingsTest, ResizingToTheSameLengthDoesNothing) {
  ASSERT_TRUE(model_.take(3 * page_, 16));
  char* const block = model_.blocks().begin()->first;
  const std::size_t calls = fake::calls();
  EXPECT_EQ(model_.mappings().resize(block, 3 * page_), block);
  EXPECT_EQ(model_.mappings().resize(block, 3 * page_ - 5), block);
  EXPECT_EQ(fake::calls(), calls);
}

TEST_P(LargeMappingsTest, ShrinkingStaysInPlace) {
  ASSERT_TRUE(model_.take(8 * page_, 16));
  char* const block = model_.blocks().begin()->first;
  EXPECT_EQ(model_.mappings().resize(block, 2 * page_), block);
  EXPECT_FALSE(fake::is_mapped(block, 3 * page_));
  EXPECT_EQ(model_.mappings().figures().bytes, 2 * page_);
  EXPECT_EQ(model_.mappings().figures().max_bytes, 8 * page_);
  EXPECT_EQ(model_.mappings().resize(block, 0), block);
  EXPECT_EQ(model_.mappings().find(block).bytes, page_);
}

TEST_P(LargeMappingsTest, WhatIsNoMappingIsNotTouched) {
  int local = 0;
  LargeMappings& mappings = model_.mappings();
  for (void* const pointer :
       {static_cast<void*>(nullptr), static_cast<void*>(&local), pointer_at(page_), pointer_at(UINTPTR_MAX)}) {
    EXPECT_EQ(mappings.find(pointer).bytes, 0U);
    EXPECT_EQ(mappings.give(pointer), 0U);
    EXPECT_EQ(mappings.resize(pointer, 100), nullptr);
  }
  EXPECT_EQ(fake::calls(), 0U);
}

TEST_P(LargeMappingsTest, ImpossibleSizesAreRefused) {
  LargeMappings& mappings = model_.mappings();
  EXPECT_EQ(mappings.take(SIZE_MAX, 16), nullptr);
  EXPECT_EQ(mappings.take(SIZE_MAX - page_, 16), nullptr);
  EXPECT_EQ(mappings.take(PTRDIFF_MAX, 16), nullptr);
  EXPECT_EQ(mappings.take(1, std::size_t{1} << 62), nullptr);
  ASSERT_TRUE(model_.take(1, 16));
  EXPECT_EQ(mappings.resize(model_.blocks().begin()->first, SIZE_MAX), nullptr);
  EXPECT_EQ(mappings.resize(model_.blocks().begin()->first, PTRDIFF_MAX), nullptr);
  model_.check();
}

TEST_P(LargeMappingsTest, ThreadsTakeAndGiveEachOthers) {
  LargeMappings& mappings = model_.mappings();
  constexpr int kThreads = 4;
  std::vector<std::vector<void*>> blocks(kThreads);
  const auto in_threads = [&](auto body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { body(i); });
    for (std::thread& thread : threads) thread.join();
  };
  in_threads([&](int i) {
    for (int n = 0; n < 300; ++n)
      blocks[static_cast<std::size_t>(i)].push_back(mappings.take(static_cast<std::size_t>(n), 16));
  });
  EXPECT_EQ(mappings.figures().count, 1200U);
  in_threads([&](int i) {
    for (void* const block : blocks[static_cast<std::size_t>((i + 1) % kThreads)])
      EXPECT_EQ(mappings.give(block), page_);
  });
  EXPECT_EQ(mappings.figures().count, 0U);
  EXPECT_EQ(mappings.figures().bytes, 0U);
}

// Blocks move while other threads take places that have just become free.
TEST_P(LargeMappingsTest, ThreadsResizeTheirBlocks) {
  LargeMappings& mappings = model_.mappings();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<std::uint64_t>(i));
      auto* block = static_cast<char*>(mappings.take(1, 16));
      std::size_t length = page_;
      for (int round = 0; round < 500; ++round) {
        *block = static_cast<char>(i);
        const std::size_t wanted = page_ * (1 + random() % 8);
        if (auto* const moved = static_cast<char*>(mappings.resize(block, wanted)); moved != nullptr) {
          block = moved;
          length = wanted;
        }
        EXPECT_EQ(*block, static_cast<char>(i));
        EXPECT_EQ(mappings.find(block).bytes, length);
        void* const other = mappings.take(page_ * (1 + random() % 8), 16);
        EXPECT_NE(mappings.give(other), 0U);
      }
      EXPECT_EQ(mappings.give(block), length);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mappings.figures().count, 0U);
  EXPECT_EQ(mappings.figures().bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(Pages, LargeMappingsTest, ::testing::Values(4096, 16384, 65536),
                         [](const auto& instance) { return std::to_string(instance.param); });

// Hardened: memory without access around each mapping, and given back ones that wait.
class HardenedMappingsTest : public ::testing::Test {
 protected:
  static void harden(std::size_t features) { options.set(OptionIndex::harden, features); }
  static bool is_usable(void* pointer, std::ptrdiff_t offset) {
    return fake::is_usable(static_cast<char*>(pointer) + offset, os::page_size());
  }

  const fake::FreshProcess process_;
  const std::ptrdiff_t page_ = static_cast<std::ptrdiff_t>(os::page_size());
};

TEST_F(HardenedMappingsTest, NothingLiesNextToAMapping) {
  harden(feature_bit(Feature::guards));
  for (const std::size_t alignment : {std::size_t{16}, std::size_t{4_KiB}, std::size_t{1_MiB}}) {
    void* const block = large_mappings.take(100'000, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_aligned(address_of(block), alignment));
    const auto length = static_cast<std::ptrdiff_t>(large_mappings.find(block).bytes);
    EXPECT_GE(length, 100'000);
    EXPECT_TRUE(is_usable(block, 0) && is_usable(block, length - page_));
    EXPECT_FALSE(is_usable(block, -page_) || is_usable(block, length));
    EXPECT_EQ(large_mappings.resize(block, static_cast<std::size_t>(length) + 1), nullptr);
    const std::size_t mapped = fake::mapped_bytes();
    EXPECT_EQ(large_mappings.give(block), static_cast<std::size_t>(length));
    EXPECT_EQ(large_mappings.end_waits(), static_cast<std::size_t>(length));
    const std::size_t around = std::max<std::size_t>(alignment, os::page_size()) + os::page_size();
    EXPECT_EQ(fake::mapped_bytes(), mapped - static_cast<std::size_t>(length) - around) << "it goes with it";
  }
}

TEST_F(HardenedMappingsTest, WhereTheSystemRefusesNothingIsLeft) {
  harden(feature_bit(Feature::guards));
  const std::size_t before = fake::mapped_bytes();
  for (std::size_t call = 1; call < 10; ++call) {
    fake::fail_call(call);
    void* const block = large_mappings.take(100'000, 16);
    const bool refused = fake::refused();
    fake::allow_all();
    if (block != nullptr) {
      EXPECT_NE(large_mappings.give(block), 0U);
      if (!refused) break;
    }
    EXPECT_LE(fake::mapped_bytes(), before + 16 * os::page_size()) << "but for the tables, call " << call;
  }
}

TEST_F(HardenedMappingsTest, ABlockOfSizeZeroCannotBeTouched) {
  void* const block = large_mappings.take_untouchable(16);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(large_mappings.find(block).untouchable);
  EXPECT_FALSE(is_usable(block, 0));
  EXPECT_NE(large_mappings.give(block), 0U);
  EXPECT_EQ(large_mappings.give(block), 0U) << "once";
  EXPECT_EQ(large_mappings.figures().count, 0U);
}

TEST_F(HardenedMappingsTest, WhatWaitsIsNobodysAndHasNoMemory) {
  harden(feature_bit(Feature::guards));
  const std::size_t usable = fake::usable_bytes();
  std::set<void*> waiting;
  for (int i = 0; i < 30; ++i) {
    void* const block = large_mappings.take(100'000, 16);
    EXPECT_TRUE(waiting.insert(block).second) << "no address comes back while it waits";
    std::memset(block, 1, 100'000);
    EXPECT_NE(large_mappings.give(block), 0U);
    EXPECT_FALSE(is_usable(block, 0));
    EXPECT_EQ(large_mappings.find(block).bytes, 0U);
    EXPECT_EQ(large_mappings.give(block), 0U) << "once";
  }
  EXPECT_LT(fake::usable_bytes(), usable + 100'000) << "but for the tables";
  EXPECT_EQ(large_mappings.figures().count, 0U);
  const std::size_t mapped = fake::mapped_bytes();
  EXPECT_GE(large_mappings.end_waits(), 30 * 100'000U);
  EXPECT_LE(fake::mapped_bytes(), mapped - 30 * 100'000U);
  EXPECT_EQ(large_mappings.end_waits(), 0U);
}

TEST_F(HardenedMappingsTest, OnlySoManyWait) {
  harden(feature_bit(Feature::guards));
  for (int i = 0; i < 500; ++i) large_mappings.give(large_mappings.take(100'000, 16));
  const std::size_t mapped = fake::mapped_bytes();
  for (int i = 0; i < 500; ++i) large_mappings.give(large_mappings.take(100'000, 16));
  EXPECT_EQ(fake::mapped_bytes(), mapped);
  void* const huge = large_mappings.take(1000_MiB, 16);
  if (huge != nullptr) large_mappings.give(huge);
  EXPECT_EQ(fake::mapped_bytes(), mapped) << "what takes so much address space does not wait";
}

}  // namespace
}  // namespace arenite
