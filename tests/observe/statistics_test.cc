#include "observe/statistics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "arena/registry.h"
#include "cache/thread_cache.h"
#include "fake/process.h"
#include "heap/footprint.h"
#include "policy/options.h"

namespace arenite {
namespace {

class StatisticsTest : public ::testing::Test {
 protected:
  StatisticsTest() { options.set(OptionIndex::arena_max, 10); }

  // Two arenas with slots, runs and cached slots, and two large mappings, one of which is gone.
  void use_everything() {
    mine_.attach(true);
    other_.attach(true);
    for (const std::size_t size : {std::size_t{16}, std::size_t{1000}, std::size_t{20000}}) {
      live_slots_bytes_ += size_class(class_for(size)).slot_size;
      ASSERT_NE(mine_.take_slow(class_for(size)), nullptr);
    }
    void* const freed = mine_.take_slow(class_for(500));
    ASSERT_TRUE(mine_.give(freed));
    ASSERT_NE(other_.take_run({5}, {1}, true).pointer, nullptr);
    live_slots_bytes_ += 5 * kUnitSize;
    ASSERT_NE(large_mappings.take(100000, 16), nullptr);
    void* const gone = large_mappings.take(500000, 16);
    large_mappings.give(gone);
  }

  static std::string written() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    write_statistics(ends[1]);
    close(ends[1]);
    std::string text(10000, '\0');
    const ssize_t got = read(ends[0], text.data(), text.size());
    close(ends[0]);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }

  const fake::FreshProcess process_;
  ThreadCache mine_;
  ThreadCache other_;
  std::size_t live_slots_bytes_ = 0;
};

TEST_F(StatisticsTest, NothingUsedIsNothing) {
  const HeapStatistics statistics = collect_statistics();
  EXPECT_EQ(statistics.all.system, 0U);
  EXPECT_EQ(statistics.all.pieces, 0U);
  EXPECT_EQ(statistics.mappings.count, 0U);
  EXPECT_EQ(written(),
            "Total (incl. mmap):\nsystem bytes     =          0\nin use bytes     =          0\n"
            "max mmap regions =          0\nmax mmap bytes   =          0\n");
}

TEST_F(StatisticsTest, SumsAreThoseOfTheArenas) {
  use_everything();
  const HeapStatistics statistics = collect_statistics();
  const ArenaSummary& all = statistics.all;
  EXPECT_EQ(all.in_use, live_slots_bytes_);
  EXPECT_EQ(all.system, all.in_use + all.free);
  ArenaFigures sum;
  registry.for_each([&](Arena& arena) {
    const ArenaFigures figures = arena.figures();
    sum.heaps.grown += figures.heaps.grown;
    sum.heaps.reserved += figures.heaps.reserved;
    sum.heaps.committed += figures.heaps.committed;
    sum.heaps.top += figures.heaps.top;
    sum.heap_count += figures.heap_count;
    sum.free_slots += figures.free_slots + figures.cached_slots + figures.heaps.free_unit_runs;
  });
  EXPECT_EQ(all.system, sum.heaps.grown);
  EXPECT_EQ(all.reserved, sum.heaps.reserved);
  EXPECT_EQ(all.writable, sum.heaps.committed);
  EXPECT_EQ(all.top, sum.heaps.top);
  EXPECT_EQ(all.heaps, sum.heap_count);
  EXPECT_EQ(all.pieces, sum.free_slots + 2) << "and the top of each arena";
  EXPECT_EQ(statistics.first_arena_top, registry.find({1})->figures().heaps.top);
  EXPECT_EQ(statistics.mappings.count, 1U);
  EXPECT_EQ(statistics.mappings.bytes, 102400U);
  EXPECT_EQ(statistics.mappings.max_count, 2U);
  EXPECT_EQ(statistics.mappings.max_bytes, 102400U + 503808U);
}

TEST_F(StatisticsTest, WhatConcernsAllArenas) {
  options.set(OptionIndex::hard_limit, 1024_MiB);
  use_everything();
  registry.find({2})->contain();
  const ProcessStatistics statistics = collect_process_statistics();
  EXPECT_EQ(statistics.arenas, registry.count());
  EXPECT_EQ(statistics.contained, 1U);
  EXPECT_EQ(statistics.hard_limit, 1024_MiB);
  EXPECT_EQ(statistics.footprint, footprint.bytes());
  EXPECT_GT(statistics.footprint, 102400U);
  EXPECT_GE(statistics.processors, 1U);
}

TEST_F(StatisticsTest, CachedSlotsCountAsFree) {
  use_everything();
  const ArenaSummary before = collect_statistics().all;
  EXPECT_EQ(mine_.flush(), nullptr);
  const ArenaSummary after = collect_statistics().all;
  EXPECT_EQ(before.in_use, after.in_use);
  EXPECT_EQ(before.free, after.free);
}

TEST_F(StatisticsTest, TheTextIsGlibcs) {
  use_everything();
  const HeapStatistics statistics = collect_statistics();
  std::string expected;
  char line[200];
  registry.for_each([&](Arena& arena) {
    const ArenaFigures figures = arena.figures();
    std::snprintf(line, sizeof line, "Arena %u:\nsystem bytes     = %10zu\nin use bytes     = %10zu\n",
                  arena.id().value - 1U, figures.heaps.grown, figures.live_bytes);
    expected += line;
  });
  std::snprintf(line, sizeof line,
                "Total (incl. mmap):\nsystem bytes     = %10zu\nin use bytes     = %10zu\nmax mmap regions = %10u\n"
                "max mmap bytes   = %10lu\n",
                statistics.all.system + statistics.mappings.bytes, statistics.all.in_use + statistics.mappings.bytes,
                static_cast<unsigned>(statistics.mappings.max_count),
                static_cast<unsigned long>(statistics.mappings.max_bytes));
  EXPECT_EQ(written(), expected + line);
}

}  // namespace
}  // namespace arenite
