#include "base/protected_ptr.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace arenite {
namespace {

struct alignas(16) Node {
  ProtectedPtr<Node> next;
  std::uint64_t payload = 0;
};
static_assert(sizeof(ProtectedPtr<Node>) == sizeof(std::uintptr_t));

class ProtectedPtrTest : public ::testing::Test {
 protected:
  ProtectedPtrTest() { link_secret = random_() | 1; }
  ~ProtectedPtrTest() override { link_secret = 0; }

  static std::uintptr_t stored(const ProtectedPtr<Node>& link) {
    std::uintptr_t bits = 0;
    std::memcpy(&bits, static_cast<const void*>(&link), sizeof bits);
    return bits;
  }
  static void overwrite(ProtectedPtr<Node>* link, std::uintptr_t bits) {
    std::memcpy(static_cast<void*>(link), &bits, sizeof bits);
  }
  static std::uintptr_t mask_of(const ProtectedPtr<Node>& link) { return (address_of(&link) >> 12) ^ link_secret; }

  std::mt19937_64 random_{7};
  Node nodes_[4];
};

TEST_F(ProtectedPtrTest, WhatIsSetIsGot) {
  EXPECT_EQ(nodes_[0].next.get(), nullptr);
  nodes_[0].next.set(&nodes_[1]);
  EXPECT_EQ(nodes_[0].next.get(), &nodes_[1]);
  nodes_[0].next.set(nullptr);
  EXPECT_EQ(nodes_[0].next.get(), nullptr);
}

TEST_F(ProtectedPtrTest, TheAddressDoesNotStandInMemory) {
  for (int i = 0; i < 1000; ++i) {
    link_secret = random_();
    if (mask_of(nodes_[0].next) == 0) continue;
    nodes_[0].next.set(&nodes_[1]);
    EXPECT_NE(stored(nodes_[0].next), address_of(&nodes_[1]));
    EXPECT_EQ(stored(nodes_[0].next) ^ mask_of(nodes_[0].next), address_of(&nodes_[1]));
  }
}

TEST_F(ProtectedPtrTest, LinksInDifferentPagesDiffer) {
  alignas(4096) static ProtectedPtr<Node> pages[2][4096 / sizeof(ProtectedPtr<Node>)];
  pages[0][0].set(&nodes_[1]);
  pages[1][0].set(&nodes_[1]);
  EXPECT_NE(stored(pages[0][0]), stored(pages[1][0]));
}

// An attacker who does not know the secret overwrites a link with an address of his choice: of 100000 tries, each with
// another secret, none yields the chosen address, and fifteen of sixteen are refused, since what they decode to is
// misaligned.
TEST_F(ProtectedPtrTest, AChosenAddressIsNotYielded) {
  constexpr int kTries = 100000;
  int followed = 0;
  for (int i = 0; i < kTries; ++i) {
    link_secret = random_();
    const std::uintptr_t chosen = align_down(random_() >> 17, 16);
    overwrite(&nodes_[0].next, chosen);
    const std::uintptr_t decoded = chosen ^ mask_of(nodes_[0].next);
    ASSERT_NE(decoded, chosen);
    if (!is_aligned(decoded, alignof(Node))) continue;  // get() ends the process: see the death test
    EXPECT_EQ(address_of(nodes_[0].next.get()), decoded);
    ++followed;
  }
  EXPECT_NEAR(followed, kTries / 16, kTries / 160);
}

TEST_F(ProtectedPtrTest, AMisalignedTargetEndsTheProcess) {
  for (std::uintptr_t low = 1; low < 16; ++low) {
    overwrite(&nodes_[0].next, (address_of(&nodes_[1]) + low) ^ mask_of(nodes_[0].next));
    EXPECT_DEATH(nodes_[0].next.get(), "internal check failed");
  }
}

// A link that is copied byte by byte to another page does not point to the same place there.
TEST_F(ProtectedPtrTest, ALinkIsBoundToItsPage) {
  alignas(4096) static ProtectedPtr<Node> pages[17][4096 / sizeof(ProtectedPtr<Node>)];
  pages[0][0].set(&nodes_[1]);
  overwrite(&pages[16][0], stored(pages[0][0]));
  EXPECT_NE(stored(pages[16][0]) ^ mask_of(pages[16][0]), address_of(&nodes_[1]));
}

}  // namespace
}  // namespace arenite
