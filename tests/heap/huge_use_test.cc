#include "heap/huge_use.h"

#include <gtest/gtest.h>

#include "base/bits.h"
#include "fake/file.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/heap.h"
#include "heap/large_mappings.h"
#include "heap/purging.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {
namespace {

using Kind = HugeUse::Kind;

class HugeUseTest : public ::testing::Test {
 protected:
  HugeUseTest() { pretend("always [madvise] never\n"); }

  static void pretend(const char* mode) {
    fake::set_file("/sys/kernel/mm/transparent_hugepage/enabled", mode);
    fake::set_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
    fake::set_file("/proc/meminfo", "MemTotal: 100 kB\nHugepagesize:    2048 kB\n");
  }

  const fake::FreshProcess process_;
};

TEST_F(HugeUseTest, TheTunableRulesBoth) {
  const HugeUse always{.kind = Kind::kAlways, .page = 2_MiB};
  const HugeUse pool{.kind = Kind::kPool, .page = 2_MiB};
  struct Case {
    std::size_t hugetlb;
    HugeUse heaps;
    HugeUse mappings;
  };
  const Case cases[] = {
      {0, {}, {}},
      {1, always, always},
      {2, pool, pool},
      {2_MiB, pool, pool},
      {1024_MiB, {}, {.kind = Kind::kPool, .page = 1024_MiB}},  // larger than a heap
      {3, {}, {}},
      {3_MiB, {}, {}},
  };
  for (const Case& each : cases) {
    options.set(OptionIndex::hugetlb, each.hugetlb);
    EXPECT_EQ(huge_use_of_heaps(), each.heaps) << each.hugetlb;
    EXPECT_EQ(huge_use_of_mappings(), each.mappings) << each.hugetlb;
  }
}

TEST_F(HugeUseTest, HeapsHaveAChoiceOfTheirOwn) {
  options.set(OptionIndex::huge_heaps, 0);
  EXPECT_EQ(huge_use_of_heaps().kind, Kind::kNever);
  options.set(OptionIndex::huge_heaps, 2);
  EXPECT_EQ(huge_use_of_heaps().kind, Kind::kAlways);
  EXPECT_EQ(huge_use_of_mappings().kind, Kind::kDefault);
}

TEST_F(HugeUseTest, WhereTheKernelHasNoneNothingIsAskedFor) {
  pretend("always madvise [never]\n");
  options.set(OptionIndex::hugetlb, 1);
  EXPECT_EQ(huge_use_of_heaps(), HugeUse{});
  fake::set_file("/proc/meminfo", "MemTotal: 100 kB\n");
  options.set(OptionIndex::hugetlb, 2);
  EXPECT_EQ(huge_use_of_mappings(), HugeUse{});
}

constexpr GrowthRule kGrowth{.reservation = kHeapSize, .pad = 0};

TEST_F(HugeUseTest, HeapsGrowAndShrinkInWholePages) {
  for (const std::size_t hugetlb : {1, 2}) {
    options.set(OptionIndex::hugetlb, hugetlb);
    Heap* const heap = Heap::create(HeapKind::kRuns, {1}, {100}, kGrowth);
    EXPECT_EQ(fake::calls(fake::Call::kAdviseHuge), 1U);
    const TakenUnits first = heap->take_units({10}, {1}, &kGrowth);
    const TakenUnits second = heap->take_units({300}, {1}, &kGrowth);
    const TakenUnits third = heap->take_units({3}, {1}, &kGrowth);
    EXPECT_EQ(fake::calls(fake::Call::kCommitHuge) != 0, hugetlb == 2);
    EXPECT_GT(heap->figures().huge_padding, 0U);
    heap->give_units(second.range);
    const std::size_t purged = purge_free_units(*heap, 1);
    EXPECT_GE(purged, 2_MiB);
    EXPECT_EQ(purged % 2_MiB, 0U);
    EXPECT_EQ(fake::calls(fake::Call::kReplace) != 0, hugetlb == 2) << "the pool gets its pages back";
    heap->give_units(third.range);
    heap->give_units(first.range);
    trim_top(*heap, {.threshold = 0, .pad = 0}, os::PurgeWay::kAdvise);
    trim_top(*heap, {.threshold = 0, .pad = 0}, os::PurgeWay::kReplace);
    EXPECT_NE(heap->take_units({500}, {1}, &kGrowth).range.count.value, 0U);
  }
}

TEST_F(HugeUseTest, WhereThePoolIsEmptyOrdinaryPagesServe) {
  options.set(OptionIndex::hugetlb, 2);
  fake::limit_pool(0);
  Heap* const heap = Heap::create(HeapKind::kRuns, {1}, {100}, kGrowth);
  EXPECT_NE(heap->take_units({300}, {1}, &kGrowth).range.count.value, 0U);
  EXPECT_NE(large_mappings.take(3_MiB, 1), nullptr);
  EXPECT_EQ(large_mappings.figures().bytes, 3_MiB);
  EXPECT_EQ(fake::pool_bytes(), 0U);
}

TEST_F(HugeUseTest, MappingsFromThePoolAreRoundedAndCounted) {
  options.set(OptionIndex::hugetlb, 2);
  void* const mapping = large_mappings.take(3_MiB, 1);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(fake::pool_bytes(), 4_MiB);
  EXPECT_EQ(large_mappings.find(mapping).bytes, 4_MiB);
  EXPECT_TRUE(LargeMappings::fits(3_MiB, 4_MiB));
  EXPECT_FALSE(LargeMappings::fits(1_MiB, 4_MiB));
  EXPECT_EQ(large_mappings.figures().huge_padding, 1_MiB);
  EXPECT_EQ(large_mappings.resize(mapping, 4_MiB), mapping) << "there is room";
  EXPECT_EQ(large_mappings.resize(mapping, 5_MiB), nullptr) << "the kernel cannot";
  EXPECT_EQ(large_mappings.give(mapping), 4_MiB);
  EXPECT_EQ(large_mappings.figures().huge_padding, 0U);
  EXPECT_EQ(fake::pool_bytes(), 0U);
  void* const small = large_mappings.take(1_MiB, 1);
  EXPECT_EQ(large_mappings.find(small).bytes, 1_MiB) << "not worth a huge page";
}

TEST_F(HugeUseTest, MappingsThatCanHoldAPageAreAlignedToIt) {
  options.set(OptionIndex::hugetlb, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(is_aligned(address_of(large_mappings.take(3_MiB, 1)), 2_MiB));
    EXPECT_NE(large_mappings.take(20_KiB, 1), nullptr);
  }
  EXPECT_EQ(fake::calls(fake::Call::kAdviseHuge), 5U);
}

}  // namespace
}  // namespace arenite
