#include "os/guarded_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "fake/memory.h"
#include "fake/process.h"
#include "os/memory.h"

namespace arenite::os {
namespace {

class GuardedMemoryTest : public ::testing::Test {
 protected:
  static bool is_usable(void* pointer, std::size_t offset, std::size_t bytes) {
    return arenite::fake::is_usable(static_cast<char*>(pointer) + offset, bytes);
  }

  const fake::FreshProcess process_;
  const std::size_t page_ = page_size();
};

TEST_F(GuardedMemoryTest, LiesBetweenPagesWithoutAccess) {
  const std::size_t before = fake::mapped_bytes();
  for (const std::size_t bytes : {std::size_t{1}, page_, 3 * page_ + 8}) {
    void* const start = map_guarded(bytes);
    ASSERT_NE(start, nullptr);
    const std::size_t inside = (bytes + page_ - 1) / page_ * page_;
    EXPECT_TRUE(is_usable(start, 0, inside));
    std::memset(start, 1, inside);
    EXPECT_FALSE(is_usable(start, inside, page_));
    EXPECT_FALSE(is_usable(start, std::size_t{0} - page_, page_));
    EXPECT_TRUE(release_guarded(start, bytes));
    EXPECT_EQ(fake::mapped_bytes(), before);
  }
}

TEST_F(GuardedMemoryTest, WhereTheSystemRefusesNothingIsLeft) {
  const std::size_t before = fake::mapped_bytes();
  for (const fake::Call call : {fake::Call::kMap, fake::Call::kDecommit}) {
    fake::fail_all(call);
    EXPECT_EQ(map_guarded(100), nullptr);
    EXPECT_EQ(fake::mapped_bytes(), before);
    fake::allow_all();
  }
  void* const start = map_guarded(100);
  fake::fail_all(fake::Call::kRelease);
  EXPECT_FALSE(release_guarded(start, 100));
  fake::allow_all();
  EXPECT_TRUE(is_usable(start, 0, page_));
}

}  // namespace
}  // namespace arenite::os
