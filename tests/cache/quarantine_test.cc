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
    for (std::size_t i = 0; i < 300; ++i) quarantine_->add(slots_ + i, 16);
    for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(quarantine_->take(), slots_ + i);
    EXPECT_TRUE(quarantine_->empty());
  }
}

TEST_F(QuarantineTest, IsBoundedInNumber) {
  for (std::size_t i = 0; i < Quarantine::kCapacity; ++i) {
    EXPECT_FALSE(quarantine_->is_full_for(16));
    quarantine_->add(slots_ + i, 16);
  }
  EXPECT_TRUE(quarantine_->is_full_for(16));
  EXPECT_EQ(quarantine_->take(), slots_);
  EXPECT_FALSE(quarantine_->is_full_for(16));
}

TEST_F(QuarantineTest, IsBoundedInBytesButTakesOneOfAnySize) {
  EXPECT_FALSE(quarantine_->is_full_for(2 * Quarantine::kMostBytes));
  quarantine_->add(slots_, Quarantine::kMostBytes - 100);
  EXPECT_FALSE(quarantine_->is_full_for(100));
  EXPECT_TRUE(quarantine_->is_full_for(101));
  EXPECT_EQ(quarantine_->take(), slots_);
  EXPECT_FALSE(quarantine_->is_full_for(101));
}

}  // namespace
}  // namespace arenite
