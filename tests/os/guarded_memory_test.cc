#include "os/guarded_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

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

// On real memory.
TEST(Seal, MakesWholePagesReadOnly) {
  const std::size_t page = page_size();
  auto* const start =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(start, MAP_FAILED);
  start[0] = 1;
  EXPECT_FALSE(seal(start + 8, page));
  EXPECT_FALSE(seal(start, page - 8));
  start[0] = 2;
  EXPECT_TRUE(seal(start, page));
  EXPECT_EQ(start[0], 2);
  start[page] = 3;
  EXPECT_DEATH(const_cast<volatile char*>(start)[0] = 4, "");
  munmap(start, 2 * page);
}

}  // namespace
}  // namespace arenite::os
