#include "arena/transfer_stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/bits.h"

namespace arenite {
namespace {

// Any addresses do: the stacks never look at what they hold.
void* slot(unsigned cls, std::size_t index) { return pointer_at((std::size_t{cls} << 20) + 16 * (index + 1)); }

TEST(TransferStacks, EachClassHoldsItsBatchesAndNoMore) {
  const auto stacks = std::make_unique<TransferStacks>();
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    EXPECT_EQ(TransferStacks::capacity({cls}), kTransferBatches * size_class({cls}).batch);
    stacks->pop({cls}, nullptr, 0);
    for (std::size_t index = 0; index < TransferStacks::capacity({cls}); ++index) {
      EXPECT_EQ(stacks->count({cls}), index);
      ASSERT_TRUE(stacks->push({cls}, slot(cls, index)));
    }
    EXPECT_FALSE(stacks->push({cls}, slot(cls, 99999)));
  }
  // All full: had one class written over another's place, it would show.
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const std::size_t capacity = TransferStacks::capacity({cls});
    std::vector<void*> slots(capacity + 1);
    ASSERT_EQ(stacks->pop({cls}, slots.data(), capacity + 1), capacity);
    for (std::size_t index = 0; index < capacity; ++index) EXPECT_EQ(slots[index], slot(cls, capacity - 1 - index));
    EXPECT_EQ(stacks->count({cls}), 0U);
    EXPECT_EQ(stacks->pop({cls}, slots.data(), 1), 0U);
  }
}

TEST(TransferStacks, TheLastPushedComesFirst) {
  const auto stacks = std::make_unique<TransferStacks>();
  const ClassIndex cls{3};
  stacks->pop(cls, nullptr, 0);
  for (std::size_t index = 0; index < 5; ++index) stacks->push(cls, slot(3, index));
  void* out[3] = {};
  EXPECT_EQ(stacks->pop(cls, out, 2), 2U);
  EXPECT_EQ(out[0], slot(3, 4));
  EXPECT_EQ(out[1], slot(3, 3));
  EXPECT_EQ(out[2], nullptr);
  EXPECT_EQ(stacks->pop(cls, out, 0), 0U);
  EXPECT_EQ(stacks->count(cls), 3U);
}

TEST(TransferStacks, WhoHasTriedToTakeHasUsedIt) {
  const auto stacks = std::make_unique<TransferStacks>();
  const ClassIndex cls{3};
  EXPECT_FALSE(stacks->was_used(cls));
  stacks->pop(cls, nullptr, 0);
  stacks->push(cls, slot(3, 0));
  EXPECT_TRUE(stacks->was_used(cls));
  EXPECT_FALSE(stacks->was_used(cls)) << "not since";
  stacks->push(cls, slot(3, 1));
  EXPECT_FALSE(stacks->was_used(cls)) << "who only gives does not use it";
}

TEST(TransferStacks, AClosedStackOpensWhenSomebodyTakes) {
  const auto stacks = std::make_unique<TransferStacks>();
  const ClassIndex cls{3};
  EXPECT_FALSE(stacks->push(cls, slot(3, 0))) << "nobody has taken yet";
  stacks->pop(cls, nullptr, 0);
  EXPECT_TRUE(stacks->push(cls, slot(3, 0)));
  stacks->close(cls);
  EXPECT_FALSE(stacks->push(cls, slot(3, 1)));
  EXPECT_EQ(stacks->count(cls), 1U);
  void* out = nullptr;
  EXPECT_EQ(stacks->pop(cls, &out, 1), 1U);
  EXPECT_EQ(out, slot(3, 0));
  EXPECT_TRUE(stacks->push(cls, slot(3, 1)));
  EXPECT_FALSE(stacks->push({4}, slot(4, 0))) << "each class for itself";
}

}  // namespace
}  // namespace arenite
