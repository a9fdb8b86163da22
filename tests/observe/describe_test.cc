#include "observe/describe.h"

#include <gtest/gtest.h>

#include <string>

#include "arena/registry.h"
#include "cache/thread_cache.h"
#include "fake/process.h"
#include "heap/large_mappings.h"
#include "heap/sampled_slots.h"
#include "policy/options.h"

namespace arenite {
namespace {

class DescribeTest : public ::testing::Test {
 protected:
  DescribeTest() { cache_.attach(true); }

  static std::string text(const void* pointer) {
    Description description;
    describe(pointer, &description);
    return std::string(description.view());
  }
  static void* inside(void* pointer, std::size_t offset) { return static_cast<char*>(pointer) + offset; }

  const fake::FreshProcess process_;
  ThreadCache cache_;
};

TEST_F(DescribeTest, TellsOfSlots) {
  void* const slot = cache_.take_slow(class_for(100));
  EXPECT_EQ(text(slot), "live slot of 112 bytes (class 7), arena 1");
  EXPECT_TRUE(text(inside(slot, 17)).starts_with("17 bytes inside a live slot of 112 bytes (class 7) at 0x"));
  ASSERT_TRUE(cache_.give(slot));
  EXPECT_EQ(text(slot), "freed slot of 112 bytes (class 7), arena 1");
}

TEST_F(DescribeTest, TellsOfRunsAndMappings) {
  void* const run = cache_.take_run({3}, {1}, true).pointer;
  EXPECT_EQ(text(run), "a live run of 49152 bytes, arena 1");
  EXPECT_TRUE(text(inside(run, 20000)).starts_with("20000 bytes inside a live run of 49152 bytes at 0x"));
  cache_.take_run({3}, {1}, true);
  ASSERT_TRUE(cache_.arena()->give_run(run));
  EXPECT_EQ(text(run), "a freed run, arena 1");
  EXPECT_EQ(text(large_mappings.take(1_MiB, 16)), "a large mapping of 1048576 bytes");
}

TEST_F(DescribeTest, TellsOfGuardsBehindSpans) {
  options.set(OptionIndex::harden, feature_bit(Feature::guards));
  void* const slot = cache_.take_slow(class_for(8000));
  const std::size_t span = std::size_t{size_class(class_for(8000)).span_units} * kUnitSize;
  void* const behind = pointer_at(align_down(address_of(slot), kUnitSize) + span);
  EXPECT_EQ(text(behind), "in a guard behind slots of 8192 bytes (class 36), arena 1");
  cache_.take_slow(class_for(20000));
  EXPECT_EQ(
      text(inside(behind, 5)),
      "in a guard behind slots of 8192 bytes (class 36) and in front of slots of 20480 bytes (class 41), arena 1");
}

TEST_F(DescribeTest, TellsOfSampledBlocks) {
  ASSERT_TRUE(sampled_slots.open());
  void* const block = sampled_slots.take(100, 16, BlockOrigin::kMalloc, {});
  const auto tells = [&](std::ptrdiff_t offset, const char* expected) {
    const std::string told = text(static_cast<char*>(block) + offset);
    EXPECT_TRUE(told.starts_with(expected)) << told;
  };
  tells(0, "live sampled block of 100 bytes at 0x");
  tells(-5, "5 bytes in front of a live sampled block of 100 bytes at 0x");
  tells(99, "99 bytes inside a live sampled block of 100 bytes at 0x");
  tells(100, "0 bytes behind the end of a live sampled block of 100 bytes at 0x");
  ASSERT_TRUE(sampled_slots.give(block, {}));
  tells(7, "7 bytes inside a freed sampled block of 100 bytes at 0x");
  tells(3 * 65536, "where sampled blocks will be");
}

TEST_F(DescribeTest, TellsOfWhatIsNobodys) {
  void* const slot = cache_.take_slow(class_for(100));
  EXPECT_EQ(text(&Heap::of(slot)), "in the guarded head of a heap, arena 1");
  EXPECT_EQ(text(inside(&Heap::of(slot), 20_MiB)), "in a heap's memory that is not in use, arena 1");
  const int local = 0;
  for (const void* const nobodys : {static_cast<const void*>(&local), static_cast<const void*>(nullptr)}) {
    EXPECT_EQ(text(nobodys), "not in any heap of arenite and not the start of a large mapping");
  }
}

}  // namespace
}  // namespace arenite
