// calloc: zero always, also where the memory was dirty before, and no overflow.
#include <set>

#include "support.h"

namespace {

using api::hide;
using api::kMib;
using api::kPtrdiffMax;

TEST(Calloc, EverySizeIsZeroAndAligned) {
  for (const std::size_t size : api::many_sizes(16 * kMib)) {
    void* const block = calloc(1, size);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(api::all_zero(block, size)) << size;
    api::expect_good_block(block, size);
    free(block);
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, ProductOfBothArguments) {
  for (const std::size_t count : api::Sizes{1, 2, 3, 7, 100, 1000}) {
    for (const std::size_t size : api::Sizes{1, 3, 16, 100, 1000}) {
      void* const block = calloc(count, size);
      ASSERT_NE(block, nullptr);
      ASSERT_GE(malloc_usable_size(block), count * size);
      ASSERT_TRUE(api::all_zero(block, count * size));
      std::memset(block, 0xff, count * size);
      free(block);
    }
  }
}

// Dirties blocks of one size, frees them, and wants them zero; the memory that calloc gets is that very memory.
void expect_zero_after_dirty(std::size_t size, std::size_t count) {
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) {
      blocks.push_back(malloc(size));
      ASSERT_NE(blocks.back(), nullptr);
      std::memset(blocks.back(), 0xff, malloc_usable_size(blocks.back()));
    }
    for (void* const block : blocks) free(block);
    blocks.clear();
    for (std::size_t i = 0; i < count; ++i) {
      blocks.push_back(calloc(1, size));
      ASSERT_NE(blocks.back(), nullptr);
      ASSERT_TRUE(api::all_zero(blocks.back(), size)) << size << " bytes, block " << i << ", round " << round;
      std::memset(blocks.back(), 0xff, size);
    }
    for (void* const block : blocks) free(block);
  }
}

TEST(Calloc, ZeroAfterDirtyFreesOfSlots) {
  for (const std::size_t size :
       api::Sizes{1, 16, 24, 64, 100, 250, 256, 257, 600, 1024, 1025, 3000, 8000, 20000, 32000}) {
    expect_zero_after_dirty(size, size < 2000 ? 1000 : 200);
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, ZeroAfterDirtyFreesOfRuns) {
  for (const std::size_t size : api::Sizes{33000, 40000, 65536, 100000, 127000, 131072}) {
    expect_zero_after_dirty(size, 60);
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, ZeroAfterDirtyFreesOfMappings) {
  for (const std::size_t size : api::Sizes{140000, 500000, 2000000, 20000000}) {
    expect_zero_after_dirty(size, 5);
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, ZeroWhenDirtyRunsAreCutAnew) {
  for (const std::size_t dirty : {std::size_t{100}, std::size_t{5000}, std::size_t{40000}, 2 * kMib}) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 8 * kMib / dirty; ++i) {
      blocks.push_back(malloc(dirty));
      ASSERT_NE(blocks.back(), nullptr);
      std::memset(blocks.back(), 0xee, malloc_usable_size(blocks.back()));
    }
    for (void* const block : blocks) free(block);
    blocks.clear();
    for (const std::size_t size : api::Sizes{48, 200, 900, 7000, 50000, 90000, 300000}) {
      for (int i = 0; i < 20; ++i) {
        blocks.push_back(calloc(size, 1));
        ASSERT_TRUE(api::all_zero(blocks.back(), size)) << size << " after " << dirty;
      }
    }
    for (void* const block : blocks) free(block);
  }
}

TEST(Calloc, ZeroAfterTrim) {
  for (const std::size_t size : api::Sizes{100, 5000, 40000, 100000, 400000}) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 4 * kMib / size; ++i) {
      blocks.push_back(malloc(size));
      std::memset(blocks.back(), 0xdd, size);
    }
    for (void* const block : blocks) free(block);
    blocks.clear();
    malloc_trim(0);
    for (std::size_t i = 0; i < 4 * kMib / size; ++i) {
      blocks.push_back(calloc(1, size));
      ASSERT_TRUE(api::all_zero(blocks.back(), size)) << size;
    }
    for (void* const block : blocks) free(block);
  }
}

TEST(Calloc, ZeroAfterReallocShrank) {
  for (const std::size_t size : api::Sizes{30000, 100000, 1000000, 10000000}) {
    void* block = malloc(size);
    std::memset(block, 0xcc, malloc_usable_size(block));
    block = realloc(block, size / 10);
    std::vector<void*> blocks;
    for (int i = 0; i < 20; ++i) {
      blocks.push_back(calloc(1, size / 4));
      ASSERT_TRUE(api::all_zero(blocks.back(), size / 4)) << size;
    }
    for (void* const other : blocks) free(other);
    free(block);
  }
}

TEST(Calloc, ZeroWhatAnotherThreadDirtied) {
  for (const std::size_t size : api::Sizes{24, 200, 3000, 40000, 300000}) {
    std::vector<void*> blocks(size < 10000 ? 2000 : 50);
    const auto dirty = [&blocks, size] {
      for (void*& block : blocks) {
        block = malloc(size);
        std::memset(block, 0xbb, malloc_usable_size(block));
      }
    };
    const auto release = [&blocks] {
      for (void* const block : blocks) free(block);
    };
    const auto check = [&blocks, size] {
      for (void*& block : blocks) {
        block = calloc(size, 1);
        ASSERT_NE(block, nullptr);
        ASSERT_TRUE(api::all_zero(block, size)) << size;
      }
    };
    api::run_in_thread(dirty);
    release();
    check();
    api::run_in_thread(release);
    api::run_in_thread(check);
    release();
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, ZeroBytesGiveUniquePointers) {
  std::set<void*> blocks;
  for (std::size_t i = 0; i < 500; ++i) {
    blocks.insert(calloc(hide(std::size_t{0}), i));
    blocks.insert(calloc(i, hide(std::size_t{0})));
  }
  EXPECT_EQ(blocks.size(), 1000u);
  EXPECT_EQ(blocks.count(nullptr), 0u);
  for (void* const block : blocks) free(block);
}

TEST(Calloc, OverflowIsENOMEM) {
  const std::size_t half = std::size_t{1} << (sizeof(std::size_t) * 4);
  const std::size_t pairs[][2] = {{SIZE_MAX, 2},
                                  {2, SIZE_MAX},
                                  {half, half},
                                  {half + 1, half},
                                  {SIZE_MAX / 2 + 1, 2},
                                  {SIZE_MAX / 3 + 1, 3},
                                  {SIZE_MAX / 16 + 2, 16},
                                  {SIZE_MAX, SIZE_MAX},
                                  {kPtrdiffMax + 1, 1},
                                  {1, kPtrdiffMax + 1},
                                  {kPtrdiffMax / 2 + 1, 2},
                                  {1, kPtrdiffMax}};
  for (const auto& pair : pairs) {
    errno = 0;
    EXPECT_EQ(calloc(hide(pair[0]), hide(pair[1])), nullptr) << pair[0] << " * " << pair[1];
    EXPECT_EQ(errno, ENOMEM);
  }
}

}  // namespace
