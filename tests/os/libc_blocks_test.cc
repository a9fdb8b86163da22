#include "os/libc_blocks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/bits.h"
#include "base/units.h"
#include "os/symbols.h"

namespace arenite::os {
namespace {

// libc's own, also where a sanitizer's malloc stands in front of it.
template <typename Function>
Function* of_libc(const char* name) {
  return reinterpret_cast<Function*>(find_symbol_in("libc.so.6", name));
}
void* libc_memalign(std::size_t alignment, std::size_t size) {
  return of_libc<void*(std::size_t, std::size_t)>("memalign")(alignment, size);
}

void expect_blocks_are_known() {
  std::vector<void*> blocks;
  for (const std::size_t size : {1UL, 24UL, 100UL, 5000UL, 100'000UL, 200'000UL, 5'000'000UL, 40'000'000UL}) {
    blocks.push_back(libc_memalign(16, size));
    blocks.push_back(libc_memalign(64, size));
    blocks.push_back(libc_memalign(1_MiB, size));
  }
  for (void* const block : blocks) {
    EXPECT_TRUE(is_libc_block(block));
    EXPECT_GE(libc_malloc().usable_size(block), 1U);
  }
  for (void* const block : blocks) libc_malloc().free(block);
}

TEST(LibcBlocks, KnowsBlocksOfAllSizes) { expect_blocks_are_known(); }

TEST(LibcBlocks, KnowsThoseOfOtherThreads) { std::thread(expect_blocks_are_known).join(); }

TEST(LibcBlocks, OtherAddressesAreNone) {
  alignas(16) static const char fixed[64] = {};
  alignas(16) char local[64] = {};
  auto* const block = static_cast<char*>(std::memset(libc_memalign(16, 4096), 0, 4096));
  for (const char* const address : {fixed + 16, static_cast<const char*>(local) + 16})
    EXPECT_FALSE(is_libc_block(address));
  for (std::size_t inside = 1; inside < 2048; inside += inside < 64 ? 1 : 16)
    EXPECT_FALSE(is_libc_block(block + inside));
  libc_malloc().free(block);
  auto* const mapped = static_cast<char*>(mmap(nullptr, 1_MiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_FALSE(is_libc_block(mapped));
  EXPECT_FALSE(is_libc_block(mapped + 16));
  EXPECT_FALSE(is_libc_block(mapped + 4096));
  munmap(mapped, 1_MiB);
  EXPECT_FALSE(is_libc_block(mapped + 16));
  for (const std::uintptr_t odd : {std::uintptr_t{0}, std::uintptr_t{8}, std::uintptr_t{16}, UINTPTR_MAX - 15}) {
    EXPECT_FALSE(is_libc_block(pointer_at(odd)));
  }
}

// As an attacker would write them, or as chance has them: each is off by one property.
TEST(LibcBlocks, HeadersThatCannotBeRightAreNone) {
  auto* const page =
      static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  auto* const header = reinterpret_cast<std::size_t*>(page);
  const auto with = [&](std::size_t before, std::size_t size_and_flags) {
    header[0] = before;
    header[1] = size_and_flags;
    return is_libc_block(page + 16);
  };
  EXPECT_TRUE(with(0, 8192 | 2)) << "a chunk with a mapping of its own";
  EXPECT_FALSE(with(0, 8208 | 2)) << "no whole page";
  EXPECT_FALSE(with(64, 8192 | 2)) << "not at its start";
  EXPECT_FALSE(with(0, 8192 | 3)) << "such a chunk has no other flags";
  EXPECT_FALSE(with(0, 8192 | 1)) << "outside of the break";
  EXPECT_FALSE(with(0, 8192 | 5)) << "in no window";
  EXPECT_FALSE(with(0, 16 | 2)) << "too small";
  munmap(page, 8192);
}

}  // namespace
}  // namespace arenite::os
