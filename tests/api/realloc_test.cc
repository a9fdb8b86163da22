// realloc and reallocarray.
#include "support.h"

namespace {

using api::hide;
using api::kKib;
using api::kMib;
using api::kPtrdiffMax;

TEST(Realloc, OfNullAllocates) {
  for (const std::size_t size : api::many_sizes(kMib)) {
    void* const block = realloc(nullptr, size);
    api::expect_good_block(block, size);
    free(block);
    if (HasFatalFailure()) return;
  }
}

TEST(Realloc, ToZeroFreesAndGivesNull) {
  for (const std::size_t size : api::Sizes{0, 1, 100, 3000, 40000, 400000, 40000000}) {
    void* const block = malloc(size);
    ASSERT_NE(block, nullptr);
    errno = 4711;
    EXPECT_EQ(realloc(block, hide(std::size_t{0})), nullptr) << size;
    EXPECT_EQ(errno, 4711) << size;
  }
}

TEST(Realloc, ToZeroReallyFrees) {
  for (int i = 0; i < 2000; ++i) {
    void* const block = malloc(4 * kMib);
    ASSERT_NE(block, nullptr);
    static_cast<char*>(block)[i] = 1;
    ASSERT_EQ(realloc(block, hide(std::size_t{0})), nullptr);
  }
  EXPECT_LT(mallinfo2().hblkhd, 1024 * kMib);
}

TEST(Realloc, FromEachSizeToEachKeepsContents) {
  const std::size_t sizes[] = {1,      15,     16,     17,     24,     100,     255,     256,     257,     1000,
                               1024,   1025,   3000,   8192,   20000,  32768,   32769,   40000,   65536,   100000,
                               131071, 131072, 132000, 262144, 500000, 1000000, 2097152, 3000000, 10000000};
  unsigned tag = 0;
  for (const std::size_t from : sizes) {
    for (const std::size_t to : sizes) {
      void* block = malloc(from);
      ASSERT_NE(block, nullptr);
      api::fill(block, from, ++tag);
      block = realloc(block, to);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(api::aligned_to(block, api::kAlignment));
      ASSERT_GE(malloc_usable_size(block), to);
      ASSERT_TRUE(api::holds(block, from < to ? from : to, from, tag)) << from << " to " << to;
      api::fill(block, to, tag + 1);
      ASSERT_TRUE(api::holds(block, to, tag + 1));
      free(block);
    }
  }
}

TEST(Realloc, GrowsStepByStepBetweenNeighbours) {
  void* blocks[8] = {};
  std::size_t size = 0;
  while (size < 3 * kMib) {
    const std::size_t larger = size + 1 + size / 7;
    for (unsigned i = 0; i < 8; ++i) {
      blocks[i] = realloc(blocks[i], larger);
      ASSERT_NE(blocks[i], nullptr);
      ASSERT_TRUE(api::holds(blocks[i], size, i)) << size << " to " << larger;
      api::fill(blocks[i], larger, i);
    }
    size = larger;
  }
  while (size > 8) {
    const std::size_t smaller = size - 1 - size / 5;
    for (unsigned i = 0; i < 8; ++i) {
      blocks[i] = realloc(blocks[i], smaller);
      ASSERT_NE(blocks[i], nullptr);
      ASSERT_TRUE(api::holds(blocks[i], smaller, size, i)) << size << " to " << smaller;
      api::fill(blocks[i], smaller, i);
    }
    size = smaller;
  }
  for (void* const block : blocks) free(block);
}

TEST(Realloc, ToTheSameSizeStaysInPlace) {
  for (const std::size_t size : api::many_sizes(8 * kMib)) {
    if (size == 0) continue;
    void* const block = malloc(size);
    ASSERT_NE(block, nullptr);
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    void* const same = realloc(block, size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(same), address) << size;
    free(same);
  }
}

TEST(Realloc, GrowingALargeBlockByLittleIsCheap) {
  // A thousand steps of 64 KiB would copy 32 GiB if each one moved the bytes.
  void* block = malloc(32 * kMib);
  ASSERT_NE(block, nullptr);
  api::fill(block, 32 * kMib, 1);
  for (std::size_t i = 1; i <= 1000; ++i) {
    block = realloc(block, 32 * kMib + i * 64 * kKib);
    ASSERT_NE(block, nullptr);
  }
  EXPECT_TRUE(api::holds(block, 32 * kMib, 1));
  free(block);
}

TEST(Realloc, OfAlignedBlocksKeepsContents) {
  for (std::size_t alignment = 16; alignment <= 4 * kMib; alignment *= 2) {
    for (const std::size_t size : api::Sizes{10, 100, 5000, 200000}) {
      void* block = memalign(alignment, size);
      ASSERT_NE(block, nullptr);
      api::fill(block, size, 5);
      block = realloc(block, size * 3);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(api::holds(block, size, 5));
      block = realloc(block, size / 2);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(api::holds(block, size / 2, size, 5));
      free(block);
    }
  }
}

TEST(Realloc, FailureKeepsTheBlock) {
  for (const std::size_t size : api::Sizes{1, 100, 3000, 40000, 400000, 40000000}) {
    void* const block = malloc(size);
    ASSERT_NE(block, nullptr);
    api::fill(block, size, 9);
    for (const std::size_t larger : {kPtrdiffMax, kPtrdiffMax + 1, SIZE_MAX, SIZE_MAX - 4095, kPtrdiffMax / 2}) {
      errno = 0;
      EXPECT_EQ(realloc(hide(block), hide(larger)), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_TRUE(api::holds(block, size, 9)) << size;
    free(block);
  }
  errno = 0;
  EXPECT_EQ(realloc(nullptr, hide(SIZE_MAX)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Realloc, SuccessLeavesErrnoAlone) {
  void* block = nullptr;
  for (const std::size_t size : api::Sizes{1, 100, 30000, 5000000, 70000000, 9000000, 300, 1}) {
    errno = 4711;
    block = realloc(block, size);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(errno, 4711) << size;
  }
  free(block);
}

TEST(Realloc, OfAnotherThreadsBlocks) {
  std::vector<void*> blocks(2000);
  api::run_in_thread([&blocks] {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = malloc(i * 30);
      api::fill(blocks[i], i * 30, static_cast<unsigned>(i));
    }
  });
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = realloc(blocks[i], i * 50 + 1);
    ASSERT_NE(blocks[i], nullptr);
    ASSERT_TRUE(api::holds(blocks[i], i * 30, static_cast<unsigned>(i))) << i;
  }
  for (void* const block : blocks) free(block);
}

TEST(Reallocarray, MultipliesAndKeepsContents) {
  void* block = nullptr;
  std::size_t size = 0;
  for (std::size_t count = 1; count < 100000; count = count * 3 + 1) {
    block = reallocarray(block, count, 12);
    ASSERT_NE(block, nullptr);
    ASSERT_GE(malloc_usable_size(block), count * 12);
    ASSERT_TRUE(api::holds(block, size, 2));
    size = count * 12;
    api::fill(block, size, 2);
  }
  free(block);
}

TEST(Reallocarray, OverflowKeepsTheBlock) {
  void* const block = malloc(1000);
  api::fill(block, 1000, 7);
  const std::size_t pairs[][2] = {
      {SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, SIZE_MAX}, {kPtrdiffMax, 1}};
  for (const auto& pair : pairs) {
    errno = 0;
    EXPECT_EQ(reallocarray(hide(block), hide(pair[0]), hide(pair[1])), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(reallocarray(nullptr, hide(pair[0]), hide(pair[1])), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  EXPECT_TRUE(api::holds(block, 1000, 7));
  EXPECT_EQ(reallocarray(block, hide(std::size_t{0}), 8), nullptr);
}

}  // namespace
