// aligned_alloc, memalign, posix_memalign, valloc and pvalloc, as posix_memalign(3) describes them.
#include <set>

#include "support.h"

namespace {

using api::hide;
using api::kMib;
using api::kPtrdiffMax;

const std::size_t kSizes[] = {0,    1,    8,    16,   17,    64,    100,    500,    1000,
                              1024, 4000, 4096, 4097, 10000, 40000, 131072, 300000, 3000000};

// Small blocks before and after make sure that no alignment comes about by chance.
template <typename Allocate>
void expect_aligned(Allocate allocate, std::size_t first_alignment) {
  for (std::size_t alignment = first_alignment; alignment <= 64 * kMib; alignment *= 2) {
    for (const std::size_t size : kSizes) {
      void* const disturb = malloc(24);
      void* const one = allocate(alignment, size);
      void* const two = allocate(alignment, size);
      ASSERT_NE(one, nullptr);
      ASSERT_NE(two, nullptr);
      ASSERT_NE(one, two);
      ASSERT_TRUE(api::aligned_to(one, alignment) && api::aligned_to(two, alignment)) << alignment << ", " << size;
      ASSERT_TRUE(api::aligned_to(one, api::kAlignment));
      ASSERT_GE(malloc_usable_size(one), size);
      api::fill(one, size, 1);
      api::fill(two, size, 2);
      ASSERT_TRUE(api::holds(one, size, 1) && api::holds(two, size, 2)) << alignment << ", " << size;
      free(one);
      free(disturb);
      free(two);
    }
  }
}

TEST(AlignedAlloc, EveryAlignment) {
  expect_aligned([](std::size_t alignment, std::size_t size) { return aligned_alloc(alignment, size); }, 1);
}

TEST(AlignedAlloc, NoPowerOfTwoIsEINVAL) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{48},
                                      std::size_t{4097}, SIZE_MAX, kPtrdiffMax, kPtrdiffMax + 2}) {
    errno = 0;
    EXPECT_EQ(aligned_alloc(hide(alignment), 100), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
}

TEST(AlignedAlloc, SizeNeedsNoMultipleOfTheAlignment) {
  void* const block = aligned_alloc(256, 5);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(api::aligned_to(block, 256));
  free(block);
}

TEST(AlignedAlloc, TooLargeIsENOMEM) {
  for (const std::size_t size : {kPtrdiffMax + 1, SIZE_MAX, SIZE_MAX - 64, SIZE_MAX - 4096, kPtrdiffMax}) {
    for (const std::size_t alignment :
         {std::size_t{1}, std::size_t{16}, std::size_t{64}, std::size_t{4096}, 64 * kMib}) {
      errno = 0;
      EXPECT_EQ(aligned_alloc(alignment, hide(size)), nullptr);
      EXPECT_EQ(errno, ENOMEM) << size << ", " << alignment;
    }
  }
  errno = 0;
  EXPECT_EQ(aligned_alloc(hide(kPtrdiffMax / 2 + 1), 16), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(aligned_alloc(hide(kPtrdiffMax + 1), 16), nullptr);
  EXPECT_NE(errno, 0);
}

TEST(Memalign, EveryAlignment) {
  expect_aligned([](std::size_t alignment, std::size_t size) { return memalign(alignment, size); }, 1);
}

TEST(Memalign, RoundsTheAlignmentUp) {
  const std::size_t cases[][2] = {{0, 16},  {3, 16},    {17, 32},     {24, 32},
                                  {33, 64}, {100, 128}, {3000, 4096}, {4097, 8192}};
  for (const auto& [alignment, expected] : cases) {
    std::vector<void*> blocks;
    for (int i = 0; i < 20; ++i) {
      blocks.push_back(memalign(hide(alignment), 50));
      ASSERT_NE(blocks.back(), nullptr);
      EXPECT_TRUE(api::aligned_to(blocks.back(), expected)) << alignment;
    }
    for (void* const block : blocks) free(block);
  }
}

TEST(Memalign, ImpossibleAlignments) {
  errno = 0;
  EXPECT_EQ(memalign(hide(kPtrdiffMax + 2), 100), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(memalign(hide(SIZE_MAX), 100), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(memalign(64, hide(SIZE_MAX - 100)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(PosixMemalign, EveryAlignment) {
  expect_aligned(
      [](std::size_t alignment, std::size_t size) {
        void* block = nullptr;
        EXPECT_EQ(posix_memalign(&block, alignment, size), 0);
        return block;
      },
      sizeof(void*));
}

TEST(PosixMemalign, WrongAlignmentIsEINVALAndTouchesNothing) {
  int here = 0;
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{12},
                                      std::size_t{24}, std::size_t{40}, std::size_t{4104}, SIZE_MAX}) {
    if (alignment == sizeof(void*)) continue;
    void* block = &here;
    EXPECT_EQ(posix_memalign(&block, hide(alignment), 100), EINVAL) << alignment;
    EXPECT_EQ(block, &here);
  }
}

TEST(PosixMemalign, TooLargeIsENOMEMAndTouchesNothing) {
  int here = 0;
  for (const std::size_t size : {kPtrdiffMax, kPtrdiffMax + 1, SIZE_MAX, SIZE_MAX - 4096}) {
    void* block = &here;
    EXPECT_EQ(posix_memalign(&block, 64, hide(size)), ENOMEM);
    EXPECT_EQ(block, &here);
  }
}

TEST(Valloc, IsPageAligned) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t size : kSizes) {
    void* const block = valloc(size);
    api::expect_good_block(block, size, page);
    free(block);
  }
  errno = 0;
  EXPECT_EQ(valloc(hide(SIZE_MAX - 10)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Pvalloc, IsPageAlignedAndWholePages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t size : kSizes) {
    void* const block = pvalloc(size);
    api::expect_good_block(block, (size + page - 1) / page * page, page);
    free(block);
  }
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 10, SIZE_MAX - page, kPtrdiffMax}) {
    errno = 0;
    EXPECT_EQ(pvalloc(hide(size)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
}

TEST(Aligned, ZeroBytesGiveUniquePointers) {
  std::set<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.insert(aligned_alloc(64, 0));
    blocks.insert(memalign(16, 0));
    blocks.insert(valloc(0));
    blocks.insert(pvalloc(0));
    void* block = nullptr;
    ASSERT_EQ(posix_memalign(&block, 4096, 0), 0);
    blocks.insert(block);
  }
  EXPECT_EQ(blocks.size(), 500u);
  EXPECT_EQ(blocks.count(nullptr), 0u);
  for (void* const block : blocks) free(block);
}

TEST(Aligned, SmallAlignedBlocksDoNotCostTheirAlignment) {
  std::vector<void*> blocks;
  std::uintptr_t lowest = UINTPTR_MAX;
  std::uintptr_t highest = 0;
  for (int i = 0; i < 4000; ++i) {
    void* const block = aligned_alloc(64, 64);
    ASSERT_NE(block, nullptr);
    blocks.push_back(block);
    lowest = std::min(lowest, reinterpret_cast<std::uintptr_t>(block));
    highest = std::max(highest, reinterpret_cast<std::uintptr_t>(block));
  }
  EXPECT_LT(highest - lowest, 64 * kMib);
  for (void* const block : blocks) free(block);
}

}  // namespace
