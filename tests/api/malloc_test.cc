// malloc, the functions that free, and malloc_usable_size, as malloc(3) and malloc_usable_size(3) describe them.
#include <algorithm>
#include <set>

#include "support.h"

namespace {

using api::hide;
using api::kMib;
using api::kPtrdiffMax;

TEST(Malloc, EverySizeIsAlignedLargeEnoughAndWritable) {
  for (const std::size_t size : api::many_sizes(64 * kMib + 16)) {
    void* const block = malloc(size);
    api::expect_good_block(block, size);
    free(block);
    if (HasFatalFailure()) return;
  }
}

TEST(Malloc, EverySizeUpTo70000) {
  for (std::size_t size = 0; size <= 70000; ++size) {
    auto* const block = static_cast<unsigned char*>(malloc(size));
    ASSERT_NE(block, nullptr) << size;
    ASSERT_TRUE(api::aligned_to(block, api::kAlignment)) << size;
    const std::size_t usable = malloc_usable_size(block);
    ASSERT_GE(usable, size);
    if (usable > 0) block[0] = block[usable - 1] = 1;
    free(block);
  }
}

TEST(Malloc, LiveBlocksKeepTheirContents) {
  struct Block {
    void* address;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (const std::size_t size : api::many_sizes(kMib)) {
    for (int copy = 0; copy < 2; ++copy) {
      void* const block = malloc(size);
      ASSERT_NE(block, nullptr);
      api::fill(block, size, static_cast<unsigned>(blocks.size()));
      blocks.push_back({block, size});
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_TRUE(api::holds(blocks[i].address, blocks[i].size, static_cast<unsigned>(i))) << blocks[i].size;
    free(blocks[i].address);
  }
}

TEST(Malloc, LiveBlocksDoNotOverlap) {
  struct Range {
    std::uintptr_t start;
    std::size_t size;
  };
  std::vector<Range> ranges;
  for (const std::size_t size : api::many_sizes(200000)) {
    void* const block = malloc(size);
    ASSERT_NE(block, nullptr);
    ranges.push_back({reinterpret_cast<std::uintptr_t>(block), malloc_usable_size(block)});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
  for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_LE(ranges[i - 1].start + ranges[i - 1].size, ranges[i].start);
  for (const Range& range : ranges) free(reinterpret_cast<void*>(range.start));
}

TEST(Malloc, ZeroBytesGiveUniquePointers) {
  std::set<void*> blocks;
  for (int i = 0; i < 1000; ++i) {
    void* const block = malloc(hide(std::size_t{0}));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(blocks.insert(block).second) << "the same pointer twice";
  }
  for (void* const block : blocks) free(block);
}

TEST(Malloc, TooLargeIsENOMEM) {
  for (const std::size_t size :
       {kPtrdiffMax, kPtrdiffMax + 1, kPtrdiffMax - 4096, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 15, SIZE_MAX - 4095,
        SIZE_MAX - 64 * kMib, SIZE_MAX / 2 + 2, kPtrdiffMax / 2}) {
    errno = 0;
    EXPECT_EQ(malloc(hide(size)), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

TEST(Malloc, TooLargeInAFreshThread) {
  api::run_in_thread([] {
    errno = 0;
    EXPECT_EQ(malloc(hide(SIZE_MAX)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  });
}

TEST(Malloc, SuccessLeavesErrnoAlone) {
  for (const std::size_t size : api::Sizes{1, 500, 40000, 300000, 8000000}) {
    errno = 4711;
    void* const block = malloc(size);
    EXPECT_EQ(errno, 4711) << size;
    free(block);
  }
}

TEST(Malloc, BlocksOfAnotherThreadAreWhole) {
  std::vector<void*> blocks;
  api::run_in_thread([&blocks] {
    for (std::size_t i = 0; i < 5000; ++i) {
      blocks.push_back(malloc(i));
      api::fill(blocks.back(), i, static_cast<unsigned>(i));
    }
  });
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_TRUE(api::holds(blocks[i], i, static_cast<unsigned>(i)));
    free(blocks[i]);
  }
}

TEST(Free, NullIsNothing) {
  errno = 4711;
  free(hide(static_cast<void*>(nullptr)));
  EXPECT_EQ(errno, 4711);
}

TEST(Free, LeavesErrnoAlone) {
  for (const std::size_t size : api::Sizes{0, 1, 100, 1000, 10000, 100000, 1000000, 10000000, 70000000}) {
    std::vector<void*> blocks;
    for (int i = 0; i < (size < 200000 ? 500 : 3); ++i) blocks.push_back(malloc(size));
    for (void* const block : blocks) {
      ASSERT_NE(block, nullptr);
      errno = 4711;
      free(block);
      ASSERT_EQ(errno, 4711) << size;
    }
  }
}

TEST(Free, OfAnotherThreadsBlockLeavesErrnoAlone) {
  std::vector<void*> blocks;
  api::run_in_thread([&blocks] {
    for (std::size_t i = 0; i < 3000; ++i) blocks.push_back(malloc(i * 20));
  });
  for (void* const block : blocks) {
    errno = 4711;
    free(block);
    ASSERT_EQ(errno, 4711);
  }
}

TEST(FreeSized, TakesTheRequestedSize) {
  const auto free_sized = api::lookup<void (*)(void*, std::size_t)>("free_sized");
  ASSERT_NE(free_sized, nullptr);
  free_sized(nullptr, 0);
  free_sized(nullptr, 100);
  for (const std::size_t size : api::many_sizes(8 * kMib)) {
    for (int kind = 0; kind < 3; ++kind) {
      void* block = nullptr;
      if (kind == 0) block = malloc(size);
      if (kind == 1) block = calloc(size, 1);
      if (kind == 2) block = realloc(malloc(10), size == 0 ? 1 : size);
      ASSERT_NE(block, nullptr);
      errno = 4711;
      free_sized(block, kind == 2 && size == 0 ? 1 : size);
      ASSERT_EQ(errno, 4711);
    }
  }
}

TEST(FreeAlignedSized, TakesTheRequestedAlignmentAndSize) {
  const auto free_aligned_sized = api::lookup<void (*)(void*, std::size_t, std::size_t)>("free_aligned_sized");
  ASSERT_NE(free_aligned_sized, nullptr);
  free_aligned_sized(nullptr, 64, 100);
  for (std::size_t alignment = 1; alignment <= kMib; alignment *= 2) {
    for (const std::size_t size : api::Sizes{0, 1, 17, 64, 100, 1000, 4096, 5000, 40000, 300000, 5000000}) {
      void* const block = aligned_alloc(alignment, size);
      ASSERT_NE(block, nullptr);
      errno = 4711;
      free_aligned_sized(block, alignment, size);
      ASSERT_EQ(errno, 4711);
    }
  }
}

TEST(Cfree, Frees) {
  const auto cfree = api::lookup<void (*)(void*)>("cfree");
  ASSERT_NE(cfree, nullptr);
  cfree(nullptr);
  for (int i = 0; i < 1000; ++i) cfree(malloc(static_cast<std::size_t>(i) * 50));
}

TEST(MallocUsableSize, OfNullIsZero) { EXPECT_EQ(malloc_usable_size(nullptr), 0u); }

TEST(MallocUsableSize, IsStableAndWholeBlockCanBeUsed) {
  for (const std::size_t size : api::many_sizes(4 * kMib)) {
    void* const block = malloc(size);
    ASSERT_NE(block, nullptr);
    const std::size_t usable = malloc_usable_size(block);
    ASSERT_GE(usable, size);
    std::memset(block, 0xa5, usable);
    ASSERT_EQ(malloc_usable_size(block), usable);
    void* const same = realloc(block, usable);
    if (usable == 0) continue;
    ASSERT_NE(same, nullptr);
    ASSERT_GE(malloc_usable_size(same), usable);
    free(same);
  }
}

TEST(MallocUsableSize, DoesNotWasteMuch) {
  // At most a fifth is lost in a class; the smallest ones and whole pages may round up further.
  for (const std::size_t size : api::many_sizes(4 * kMib)) {
    void* const block = malloc(size);
    ASSERT_NE(block, nullptr);
    EXPECT_LE(malloc_usable_size(block), std::max(size + size / 4 + 32, (size + 16383) / 16384 * 16384 + 16384))
        << size;
    if (size >= 64 && size <= 16384) {
      EXPECT_LE(malloc_usable_size(block), size + size / 4 + 16) << size;
    }
    free(block);
  }
}

}  // namespace
