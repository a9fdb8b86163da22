#include "base/protected_ptr.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace arenite {
namespace {

struct alignas(kLinkAlignment) Node {
  ProtectedPtr<Node> next;
  std::uint64_t payload = 0;
};
static_assert(sizeof(ProtectedPtr<Node>) == sizeof(std::uintptr_t));

class ProtectedPtrTest : public ::testing::Test {
 protected:
  ProtectedPtrTest() { sealed.link_secret = random_() | 1; }
  ~ProtectedPtrTest() override { sealed.link_secret = 0; }

  static std::uintptr_t stored(const ProtectedPtr<Node>& link) {
    std::uintptr_t bits = 0;
    std::memcpy(&bits, static_cast<const void*>(&link), sizeof bits);
    return bits;
  }
  static void overwrite(ProtectedPtr<Node>* link, std::uintptr_t bits) {
    std::memcpy(static_cast<void*>(link), &bits, sizeof bits);
  }
  static std::uintptr_t mask_of(const ProtectedPtr<Node>& link) {
    return (address_of(&link) >> 12) ^ sealed.link_secret;
  }

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
    sealed.link_secret = random_();
    if (mask_of(nodes_[0].next) == 0) continue;
    nodes_[0].next.set(&nodes_[1]);
    EXPECT_NE(stored(nodes_[0].next), address_of(&nodes_[1]));
    EXPECT_EQ(stored(nodes_[0].next) ^ mask_of(nodes_[0].next), address_of(&nodes_[1]));
  }
}

TEST_F(ProtectedPtrTest, LinksInDifferentPagesDiffer) {
  alignas(kLinkAlignment) static ProtectedPtr<Node> pages[2][4096 / sizeof(ProtectedPtr<Node>)];
  pages[0][0].set(&nodes_[1]);
  pages[1][0].set(&nodes_[1]);
  EXPECT_NE(stored(pages[0][0]), stored(pages[1][0]));
}

// An attacker who does not know the secret overwrites a link with an address of his choice: of a million tries, each
// with another secret, none yields the chosen address, and about one in 4096 yields any at all.
TEST_F(ProtectedPtrTest, AChosenAddressIsNotYielded) {
  constexpr int kTries = 1000000;
  int followed = 0;
  for (int i = 0; i < kTries; ++i) {
    sealed.link_secret = random_();
    const std::uintptr_t chosen = align_down(random_() >> 17, kLinkAlignment) | kLinkAlignment;
    overwrite(&nodes_[0].next, chosen);
    if (nodes_[0].next.get() == nullptr) continue;
    ASSERT_NE(address_of(nodes_[0].next.get()), chosen);
    ++followed;
  }
  EXPECT_GT(followed, 0);
  EXPECT_LT(followed, kTries / 4096 * 3 / 2);
}

TEST_F(ProtectedPtrTest, ATargetThatIsNotAtAPageIsRefused) {
  EXPECT_TRUE(nodes_[0].next.is_whole());
  nodes_[0].next.set(&nodes_[1]);
  EXPECT_TRUE(nodes_[0].next.is_whole());
  for (std::uintptr_t low = 1; low < kLinkAlignment; low *= 2) {
    overwrite(&nodes_[0].next, (address_of(&nodes_[1]) + low) ^ mask_of(nodes_[0].next));
    EXPECT_FALSE(nodes_[0].next.is_whole());
    EXPECT_EQ(nodes_[0].next.get(), nullptr);
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
