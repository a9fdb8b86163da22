#include "cache/quarantine.h"

#include <gtest/gtest.h>

#include <memory>

namespace arenite {
namespace {

class QuarantineTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Quarantine> quarantine_ = std::make_unique<Quarantine>();
  char slots_[2 * Quarantine::kCapacity];
};

TEST_F(QuarantineTest, TheFirstInIsTheFirstOut) {
  for (int round = 0; round < 5; ++round) {  // around the ring
    for (std::size_t i = 0; i < 200; ++i) quarantine_->add({slots_ + i, {static_cast<std::uint8_t>(i % 10 + 1)}});
    for (std::size_t i = 0; i < 200; ++i) {
      const Quarantine::Waiting oldest = quarantine_->take();
      EXPECT_EQ(oldest.slot, slots_ + i);
      EXPECT_EQ(oldest.cls.value, i % 10 + 1);
    }
    EXPECT_TRUE(quarantine_->empty());
  }
}

TEST_F(QuarantineTest, IsBoundedInNumber) {
  constexpr ClassIndex kSmallest{1};
  for (std::size_t i = 0; i < Quarantine::kCapacity; ++i) {
    EXPECT_FALSE(quarantine_->is_full_for(kSmallest));
    quarantine_->add({slots_ + i, kSmallest});
  }
  EXPECT_TRUE(quarantine_->is_full_for(kSmallest));
  EXPECT_EQ(quarantine_->take().slot, slots_);
  EXPECT_FALSE(quarantine_->is_full_for(kSmallest));
}

TEST_F(QuarantineTest, IsBoundedInBytes) {
  constexpr ClassIndex kLargest{kClassCount};
  constexpr std::size_t kMost = Quarantine::kMostBytes / kMaxSlotSize;
  for (std::size_t i = 0; i < kMost; ++i) {
    EXPECT_FALSE(quarantine_->is_full_for(kLargest));
    quarantine_->add({slots_ + i, kLargest});
  }
  EXPECT_TRUE(quarantine_->is_full_for({1}));
  EXPECT_EQ(quarantine_->take().slot, slots_);
  EXPECT_FALSE(quarantine_->is_full_for(kLargest));
}

}  // namespace
}  // namespace arenite
