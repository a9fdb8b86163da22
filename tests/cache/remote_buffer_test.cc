#include "cache/remote_buffer.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

namespace arenite {
namespace {

class RemoteBufferTest : public ::testing::Test {
 protected:
  static constexpr std::uint16_t kOwners = 5;

  RemoteBufferTest() {
    for (std::uint16_t owner = 1; owner <= kOwners; ++owner) enter_heap(pointer_at(base_of(owner)), {owner}, 4);
  }
  ~RemoteBufferTest() override {
    for (std::uint16_t owner = 1; owner <= kOwners; ++owner) heap_table[base_of(owner) >> kPlatform.heap_bits] = 0;
  }

  static std::uintptr_t base_of(std::uint16_t owner) { return (std::uintptr_t{1000} + owner) << kPlatform.heap_bits; }

  RemoteBuffer buffer_;
};

TEST_F(RemoteBufferTest, SlotsComeOutByOwnerInOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    std::map<std::uint16_t, std::vector<void*>> expected;
    const std::size_t count = 1 + random() % RemoteBuffer::kCapacity;
    for (std::size_t index = 0; index < count; ++index) {
      ASSERT_FALSE(buffer_.full());
      const auto owner = static_cast<std::uint16_t>(1 + random() % kOwners);
      void* const slot = pointer_at(base_of(owner) + 16 * index);
      buffer_.add(slot, 16);
      expected[owner].push_back(slot);
      EXPECT_FALSE(buffer_.empty());
    }
    EXPECT_EQ(buffer_.full(), count == RemoteBuffer::kCapacity);
    while (!buffer_.empty()) {
      void* slots[RemoteBuffer::kCapacity];
      ArenaId owner;
      const std::size_t taken = buffer_.take_one_owner(slots, &owner);
      EXPECT_EQ(std::vector<void*>(slots, slots + taken), expected[owner.value]);
      expected.erase(owner.value);
    }
    EXPECT_TRUE(expected.empty());
  }
}

}  // namespace
}  // namespace arenite
