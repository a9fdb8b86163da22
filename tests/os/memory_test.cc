// The contract of os/memory.h, of the real functions and of the fake that all other unit tests stand on.
//
// The program links the fake. The real functions are compiled here under another namespace, which is why the file is
// included.
#include "base/bits.h"
#include "os/process_start.h"
#include "os/syscall.h"

namespace arenite::real_os {
using namespace arenite::os;
}

#define os real_os
#include "../../src/os/memory.cc"
#undef os

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "fake/memory.h"

// What the fake defines: memory.h has been read under the other name.
namespace arenite::os {
std::size_t page_size();
void* reserve(std::size_t bytes, std::size_t alignment);
bool reserve_at(void* address, std::size_t bytes);
bool commit(void* address, std::size_t bytes);
bool make_readable(void* address, std::size_t bytes);
bool purge(void* address, std::size_t bytes);
bool replace(void* address, std::size_t bytes);
bool decommit(void* address, std::size_t bytes);
bool release(void* address, std::size_t bytes);
void* map(std::size_t bytes, std::size_t alignment);
bool resize_in_place(void* address, std::size_t old_bytes, std::size_t new_bytes);
void* move(void* address, std::size_t old_bytes, std::size_t new_bytes);
bool guard(void* address, std::size_t bytes);
bool unguard(void* address, std::size_t bytes);
bool advise_huge(void* address, std::size_t bytes, bool wanted);
bool commit_huge(void* address, std::size_t bytes, std::size_t huge_page_size);
void* map_huge(std::size_t bytes, std::size_t alignment, std::size_t huge_page_size);
}  // namespace arenite::os

namespace arenite {
namespace {

struct Functions {
  const char* name;
  std::size_t (*page_size)();
  void* (*reserve)(std::size_t, std::size_t);
  bool (*reserve_at)(void*, std::size_t);
  bool (*commit)(void*, std::size_t);
  bool (*make_readable)(void*, std::size_t);
  bool (*purge)(void*, std::size_t);
  bool (*replace)(void*, std::size_t);
  bool (*decommit)(void*, std::size_t);
  bool (*release)(void*, std::size_t);
  void* (*map)(std::size_t, std::size_t);
  bool (*resize_in_place)(void*, std::size_t, std::size_t);
  void* (*move)(void*, std::size_t, std::size_t);
  bool (*advise_huge)(void*, std::size_t, bool);
  bool (*commit_huge)(void*, std::size_t, std::size_t);
  void* (*map_huge)(std::size_t, std::size_t, std::size_t);
};

constexpr Functions kReal{"real",
                          real_os::page_size,
                          real_os::reserve,
                          real_os::reserve_at,
                          real_os::commit,
                          real_os::make_readable,
                          real_os::purge,
                          real_os::replace,
                          real_os::decommit,
                          real_os::release,
                          real_os::map,
                          real_os::resize_in_place,
                          real_os::move,
                          real_os::advise_huge,
                          real_os::commit_huge,
                          real_os::map_huge};
constexpr Functions kFake{"fake",    os::page_size,   os::reserve,     os::reserve_at, os::commit, os::make_readable,
                          os::purge, os::replace,     os::decommit,    os::release,    os::map,    os::resize_in_place,
                          os::move,  os::advise_huge, os::commit_huge, os::map_huge};

// What the pool of most machines is made of.
constexpr std::size_t kHuge = 2_MiB;

char* at(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

bool all_zero(const void* memory, std::size_t bytes) {
  const char* const start = static_cast<const char*>(memory);
  return start[0] == 0 && std::memcmp(start, start + 1, bytes - 1) == 0;
}

class MemoryTest : public ::testing::TestWithParam<Functions> {
 protected:
  MemoryTest() { fake::forget_everything(nullptr); }
  ~MemoryTest() override { fake::forget_everything(nullptr); }

  const Functions os_ = GetParam();
  const std::size_t page_ = os_.page_size();
};

TEST_P(MemoryTest, MapGivesZeroedUsableAlignedMemory) {
  for (const std::size_t alignment : {page_, 64_KiB, 2_MiB, 64_MiB}) {
    for (const std::size_t bytes : {page_, 64_KiB, 3_MiB}) {
      void* const memory = os_.map(bytes, alignment);
      ASSERT_NE(memory, nullptr);
      EXPECT_TRUE(is_aligned(address_of(memory), alignment));
      EXPECT_TRUE(all_zero(memory, bytes));
      std::memset(memory, 1, bytes);
      EXPECT_TRUE(os_.release(memory, bytes));
    }
  }
}

TEST_P(MemoryTest, ManyAlignedReservationsStandBesideEachOther) {
  void* heaps[20];
  for (void*& heap : heaps) {
    heap = os_.reserve(64_MiB, 64_MiB);
    ASSERT_NE(heap, nullptr);
    EXPECT_TRUE(is_aligned(address_of(heap), 64_MiB));
  }
  for (void* const heap : heaps) EXPECT_TRUE(os_.release(heap, 64_MiB));
}

TEST_P(MemoryTest, ReservedPagesAreNoMemoryUntilCommitted) {
  void* const base = os_.reserve(16 * page_, page_);
  ASSERT_NE(base, nullptr);
  EXPECT_DEATH(*at(base, 0) = 1, "");
  ASSERT_TRUE(os_.commit(at(base, 4 * page_), 4 * page_));
  EXPECT_TRUE(all_zero(at(base, 4 * page_), 4 * page_));
  std::memset(at(base, 4 * page_), 7, 4 * page_);
  EXPECT_DEATH(*at(base, 8 * page_) = 1, "");
  EXPECT_TRUE(os_.release(base, 16 * page_));
}

TEST_P(MemoryTest, ReadablePagesReadAsZeroAndCanBeCommittedLater) {
  void* const base = os_.reserve(4 * page_, page_);
  ASSERT_TRUE(os_.make_readable(base, 4 * page_));
  EXPECT_TRUE(all_zero(base, 4 * page_));
  EXPECT_DEATH(*at(base, 0) = 1, "");
  ASSERT_TRUE(os_.commit(at(base, page_), page_));
  *at(base, page_) = 1;
  EXPECT_TRUE(all_zero(base, page_));
  ASSERT_TRUE(os_.make_readable(at(base, page_), page_));
  EXPECT_TRUE(all_zero(at(base, page_), page_));
  EXPECT_DEATH(*at(base, page_) = 1, "");
  EXPECT_TRUE(os_.release(base, 4 * page_));
}

TEST(Memory, GuardsLetNobodyInAndTakeNoMappingOfTheirOwn) {
  const std::size_t page = real_os::page_size();
  auto* const memory = static_cast<char*>(real_os::map(3 * page, page));
  if (!real_os::guard(memory, page)) GTEST_SKIP() << "this kernel has no guards";
  ASSERT_TRUE(real_os::guard(memory + 2 * page, page));
  memory[page] = memory[2 * page - 1] = 1;
  EXPECT_DEATH(memory[page - 1] = 1, "");
  EXPECT_DEATH(memory[2 * page] = 1, "");
  ASSERT_TRUE(real_os::unguard(memory + 2 * page, page));
  EXPECT_TRUE(all_zero(memory + 2 * page, page));
  memory[2 * page] = 1;
  EXPECT_DEATH(memory[page - 1] = 1, "");
  EXPECT_TRUE(real_os::release(memory, 3 * page));
}

TEST_P(MemoryTest, PurgedPagesReadAsZeroAndStayUsable) {
  void* const memory = os_.map(4 * page_, page_);
  std::memset(memory, 7, 4 * page_);
  ASSERT_TRUE(os_.purge(at(memory, page_), 2 * page_));
  EXPECT_TRUE(all_zero(at(memory, page_), 2 * page_));
  EXPECT_EQ(*at(memory, page_ - 1), 7);
  EXPECT_EQ(*at(memory, 3 * page_), 7);
  std::memset(memory, 7, 4 * page_);
  EXPECT_TRUE(os_.release(memory, 4 * page_));
}

TEST_P(MemoryTest, ReplacedPagesAreFreshAndUsable) {
  void* const memory = os_.map(4 * page_, page_);
  std::memset(memory, 7, 4 * page_);
  ASSERT_TRUE(os_.replace(at(memory, page_), 2 * page_));
  EXPECT_TRUE(all_zero(at(memory, page_), 2 * page_));
  EXPECT_EQ(*at(memory, page_ - 1), 7);
  EXPECT_EQ(*at(memory, 3 * page_), 7);
  std::memset(memory, 7, 4 * page_);
  EXPECT_TRUE(os_.release(memory, 4 * page_));
}

TEST_P(MemoryTest, DecommittedPagesAreReservedAgain) {
  void* const memory = os_.map(4 * page_, page_);
  std::memset(memory, 7, 4 * page_);
  ASSERT_TRUE(os_.decommit(at(memory, 2 * page_), 2 * page_));
  EXPECT_EQ(*at(memory, page_), 7);
  EXPECT_DEATH(*at(memory, 2 * page_) = 1, "");
  ASSERT_TRUE(os_.commit(at(memory, 2 * page_), 2 * page_));
  EXPECT_TRUE(all_zero(at(memory, 2 * page_), 2 * page_));
  EXPECT_TRUE(os_.release(memory, 4 * page_));
}

TEST_P(MemoryTest, AFixedReservationNeverReplacesWhatIsThere) {
  void* const base = os_.reserve(4 * page_, page_);
  ASSERT_TRUE(os_.release(at(base, 2 * page_), page_));
  EXPECT_FALSE(os_.reserve_at(at(base, page_), 2 * page_));
  EXPECT_FALSE(os_.reserve_at(base, page_));
  EXPECT_TRUE(os_.reserve_at(at(base, 2 * page_), page_));
  EXPECT_TRUE(os_.release(base, 4 * page_));
}

TEST_P(MemoryTest, ResizingInPlaceKeepsTheContent) {
  void* const memory = os_.map(8 * page_, page_);
  std::memset(memory, 7, 8 * page_);
  ASSERT_TRUE(os_.resize_in_place(memory, 8 * page_, 4 * page_));
  ASSERT_TRUE(os_.reserve_at(at(memory, 6 * page_), page_)) << "the end has been unmapped";
  EXPECT_FALSE(os_.resize_in_place(memory, 4 * page_, 8 * page_)) << "something is in the way";
  ASSERT_TRUE(os_.resize_in_place(memory, 4 * page_, 6 * page_));
  EXPECT_EQ(*at(memory, 4 * page_ - 1), 7);
  EXPECT_TRUE(all_zero(at(memory, 4 * page_), 2 * page_));
  EXPECT_TRUE(os_.release(memory, 7 * page_));
}

TEST_P(MemoryTest, MovingTakesThePagesAlong) {
  void* const memory = os_.map(4 * page_, page_);
  std::memset(memory, 7, 4 * page_);
  void* const behind = at(memory, 4 * page_);
  const bool blocked = os_.reserve_at(behind, page_);
  void* const target = os_.move(memory, 4 * page_, 8 * page_);
  ASSERT_NE(target, nullptr);
  EXPECT_NE(target, memory) << "something is in the way";
  EXPECT_EQ(*at(target, 4 * page_ - 1), 7);
  EXPECT_TRUE(all_zero(at(target, 4 * page_), 4 * page_));
  std::memset(target, 7, 8 * page_);
  ASSERT_TRUE(os_.reserve_at(memory, 4 * page_)) << "the old range is unmapped";
  EXPECT_TRUE(os_.release(memory, 4 * page_));
  EXPECT_TRUE(!blocked || os_.release(behind, page_));
  EXPECT_TRUE(os_.release(target, 8 * page_));
}

TEST_P(MemoryTest, AdviceOnHugePagesKeepsTheContent) {
  void* const memory = os_.map(2 * kHuge, kHuge);
  std::memset(memory, 7, 2 * kHuge);
  for (const bool wanted : {true, false}) {
    os_.advise_huge(memory, kHuge, wanted);  // refused where the kernel has none
    EXPECT_EQ(*at(memory, 0), 7);
    EXPECT_EQ(std::memcmp(memory, at(memory, 1), 2 * kHuge - 1), 0);
  }
  EXPECT_TRUE(os_.release(memory, 2 * kHuge));
}

TEST_P(MemoryTest, MappedHugePagesAreZeroedUsableAndAligned) {
  for (const std::size_t alignment : {page_, kHuge, 64_MiB}) {
    void* const memory = os_.map_huge(2 * kHuge, alignment, kHuge);
    if (memory == nullptr) GTEST_SKIP() << "the pool is empty";
    EXPECT_TRUE(is_aligned(address_of(memory), alignment));
    EXPECT_TRUE(is_aligned(address_of(memory), kHuge));
    EXPECT_TRUE(all_zero(memory, 2 * kHuge));
    std::memset(memory, 7, 2 * kHuge);
    EXPECT_TRUE(os_.release(at(memory, kHuge), kHuge));
    EXPECT_EQ(*at(memory, kHuge - 1), 7);
    EXPECT_TRUE(os_.release(memory, kHuge));
  }
}

TEST_P(MemoryTest, CommittedHugePagesStandWhereTheyAreWanted) {
  void* const base = os_.reserve(4 * kHuge, kHuge);
  if (!os_.commit_huge(at(base, kHuge), 2 * kHuge, kHuge)) {
    os_.release(base, 4 * kHuge);
    GTEST_SKIP() << "the pool is empty";
  }
  EXPECT_TRUE(all_zero(at(base, kHuge), 2 * kHuge));
  std::memset(at(base, kHuge), 7, 2 * kHuge);
  EXPECT_DEATH(*at(base, kHuge - 1) = 1, "");
  EXPECT_DEATH(*at(base, 3 * kHuge) = 1, "");
  ASSERT_TRUE(os_.decommit(at(base, kHuge), kHuge));
  EXPECT_DEATH(*at(base, kHuge) = 1, "");
  EXPECT_EQ(*at(base, 2 * kHuge), 7);
  ASSERT_TRUE(os_.commit(at(base, kHuge), page_)) << "usual pages";
  *at(base, kHuge) = 1;
  ASSERT_TRUE(os_.replace(at(base, 2 * kHuge), kHuge));
  EXPECT_TRUE(all_zero(at(base, 2 * kHuge), kHuge));
  EXPECT_TRUE(os_.release(base, 4 * kHuge));
}

TEST_P(MemoryTest, HugePagesCanBeCutOffInPlaceButNotAdded) {
  void* const memory = os_.map_huge(2 * kHuge, kHuge, kHuge);
  if (memory == nullptr) GTEST_SKIP() << "the pool is empty";
  std::memset(memory, 7, 2 * kHuge);
  EXPECT_FALSE(os_.resize_in_place(memory, 2 * kHuge, 3 * kHuge));
  EXPECT_EQ(os_.move(memory, 2 * kHuge, 3 * kHuge), nullptr);
  EXPECT_TRUE(os_.resize_in_place(memory, 2 * kHuge, kHuge));
  EXPECT_EQ(*at(memory, kHuge - 1), 7);
  EXPECT_TRUE(os_.reserve_at(at(memory, kHuge), kHuge));
  EXPECT_TRUE(os_.release(memory, 2 * kHuge));
}

// 32 GiB are more than any pool has.
TEST_P(MemoryTest, APoolWithoutPagesChangesNothing) {
  constexpr std::size_t kTooMuch = 32 * 1024 * 1_MiB;
  fake::limit_pool(kTooMuch - kHuge);
  EXPECT_EQ(os_.map_huge(kTooMuch, kHuge, kHuge), nullptr);
  void* const base = os_.reserve(kTooMuch, kHuge);
  ASSERT_NE(base, nullptr);
  EXPECT_FALSE(os_.commit_huge(base, kTooMuch, kHuge));
  for (std::size_t place = 0; place < kTooMuch; place += 1024 * 1_MiB) {
    EXPECT_FALSE(os_.reserve_at(at(base, place), page_)) << "still reserved";
  }
  EXPECT_DEATH(*at(base, kHuge) = 1, "");
  ASSERT_TRUE(os_.commit(at(base, kHuge), page_));
  *at(base, kHuge) = 1;
  EXPECT_TRUE(os_.release(base, kTooMuch));
}

TEST_P(MemoryTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(os_.map(std::size_t{1} << 60, page_), nullptr);
  EXPECT_EQ(os_.map(page_, std::size_t{1} << 60), nullptr);
  EXPECT_EQ(os_.reserve(SIZE_MAX - page_ + 1, page_), nullptr);
  EXPECT_EQ(os_.reserve(std::size_t{1} << 47, 64_MiB), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Both, MemoryTest, ::testing::Values(kReal, kFake),
                         [](const auto& instance) { return std::string(instance.param.name); });

// The flags that the kernel shows for the mapping that `address` is in.
std::string kernel_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2) {
      inside = start <= address_of(address) && address_of(address) < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

TEST(RealMemory, AdviceOnHugePagesReachesTheKernel) {
  void* const memory = real_os::map(2 * kHuge, kHuge);
  if (!real_os::advise_huge(memory, kHuge, true)) GTEST_SKIP() << "the kernel has no transparent huge pages";
  EXPECT_NE(kernel_flags(memory).find(" hg "), std::string::npos);
  EXPECT_EQ(kernel_flags(at(memory, kHuge)).find(" hg "), std::string::npos);
  EXPECT_TRUE(real_os::advise_huge(memory, kHuge, false));
  EXPECT_NE(kernel_flags(memory).find(" nh "), std::string::npos);
  EXPECT_TRUE(real_os::release(memory, 2 * kHuge));
}

TEST(RealMemory, CommittedHugePagesAreFromThePool) {
  void* const base = real_os::reserve(2 * kHuge, kHuge);
  if (real_os::commit_huge(base, kHuge, kHuge)) {
    EXPECT_NE(kernel_flags(base).find(" ht "), std::string::npos);
    EXPECT_EQ(kernel_flags(at(base, kHuge)).find(" ht "), std::string::npos);
  }
  EXPECT_TRUE(real_os::release(base, 2 * kHuge));
}

class FakeMemoryTest : public ::testing::Test {
 protected:
  FakeMemoryTest() { fake::forget_everything(nullptr); }
  ~FakeMemoryTest() override { fake::forget_everything(nullptr); }
};

TEST_F(FakeMemoryTest, BooksAreExact) {
  void* const base = os::reserve(10 * 4096, 4096);
  EXPECT_EQ(fake::mapped_bytes(), 10U * 4096);
  EXPECT_EQ(fake::usable_bytes(), 0U);
  os::commit(base, 4 * 4096);
  EXPECT_EQ(fake::usable_bytes(), 4U * 4096);
  os::decommit(at(base, 4096), 4096);
  EXPECT_EQ(fake::usable_bytes(), 3U * 4096);
  EXPECT_FALSE(fake::is_usable(base, 2 * 4096));
  EXPECT_TRUE(fake::is_usable(at(base, 2 * 4096), 2 * 4096));
  os::release(at(base, 3 * 4096), 4096);
  EXPECT_EQ(fake::mapped_bytes(), 9U * 4096);
  EXPECT_FALSE(fake::is_mapped(base, 10 * 4096));
  EXPECT_EQ(fake::calls(fake::Call::kReserve), 1U);
  EXPECT_EQ(fake::calls(), 4U);
}

TEST_F(FakeMemoryTest, RefusalsAreAsAskedFor) {
  fake::fail_call(2);
  EXPECT_NE(os::map(4096, 4096), nullptr);
  EXPECT_FALSE(fake::refused());
  EXPECT_EQ(os::map(4096, 4096), nullptr);
  EXPECT_TRUE(fake::refused());
  EXPECT_NE(os::map(4096, 4096), nullptr);
  fake::fail_call(fake::Call::kReserve, 1);
  EXPECT_NE(os::map(4096, 4096), nullptr);
  EXPECT_EQ(os::reserve(4096, 4096), nullptr);
  fake::fail_all(fake::Call::kMap);
  EXPECT_EQ(os::map(4096, 4096), nullptr);
  EXPECT_EQ(os::map(4096, 4096), nullptr);
  EXPECT_NE(os::reserve(4096, 4096), nullptr);
  fake::allow_all();
  fake::limit_mapped(fake::mapped_bytes() + 4096);
  EXPECT_EQ(os::reserve(8192, 4096), nullptr);
  EXPECT_NE(os::reserve(4096, 4096), nullptr);
  fake::allow_all();
  fake::limit_usable(fake::usable_bytes() + 4096);
  EXPECT_EQ(os::map(8192, 4096), nullptr);
  EXPECT_NE(os::reserve(8192, 4096), nullptr);
}

TEST_F(FakeMemoryTest, ThePoolIsCounted) {
  void* const base = os::reserve(3 * kHuge, kHuge);
  fake::limit_pool(2 * kHuge);
  EXPECT_FALSE(os::commit_huge(base, 3 * kHuge, kHuge));
  EXPECT_TRUE(fake::refused());
  EXPECT_TRUE(os::commit_huge(base, 2 * kHuge, kHuge));
  EXPECT_EQ(fake::pool_bytes(), 2 * kHuge);
  EXPECT_EQ(fake::usable_bytes(), 2 * kHuge);
  EXPECT_EQ(os::map_huge(kHuge, kHuge, kHuge), nullptr);
  os::decommit(base, kHuge);
  EXPECT_EQ(fake::pool_bytes(), kHuge);
  os::replace(at(base, kHuge), kHuge);
  EXPECT_EQ(fake::pool_bytes(), 0U);
  EXPECT_NE(os::map_huge(kHuge, 4096, kHuge), nullptr);
  fake::fail_call(fake::Call::kMapHuge, 1);
  EXPECT_EQ(os::map_huge(kHuge, 4096, kHuge), nullptr);
  EXPECT_EQ(fake::calls(fake::Call::kMapHuge), 3U);
  EXPECT_EQ(fake::calls(fake::Call::kCommitHuge), 2U);
  fake::fail_all(fake::Call::kAdviseHuge);
  EXPECT_FALSE(os::advise_huge(base, kHuge, true));
}

TEST_F(FakeMemoryTest, HugePagesCannotBeCut) {
  void* const base = os::reserve(3 * kHuge, kHuge);
  EXPECT_DEATH(os::commit_huge(base, kHuge + 4096, kHuge), "illegal commit_huge.*whole huge pages");
  EXPECT_DEATH(os::commit_huge(at(base, 4096), kHuge, kHuge), "illegal commit_huge.*inside a huge page");
  EXPECT_DEATH(os::commit_huge(base, kHuge, 0), "illegal commit_huge.*bad size");
  ASSERT_TRUE(os::commit_huge(base, 2 * kHuge, kHuge));
  EXPECT_DEATH(os::commit_huge(base, kHuge, kHuge), "illegal commit_huge.*reserved");
  EXPECT_DEATH(os::purge(base, 4096), "illegal purge.*inside a huge page");
  EXPECT_DEATH(os::decommit(at(base, kHuge - 4096), 4096), "illegal decommit.*inside a huge page");
  EXPECT_DEATH(os::release(base, kHuge + 4096), "illegal release.*inside a huge page");
  EXPECT_DEATH(os::resize_in_place(base, 2 * kHuge, 4096), "illegal resize_in_place.*whole huge pages");
  EXPECT_DEATH(os::map_huge(4096, 4096, kHuge), "illegal map_huge.*whole huge pages");
  EXPECT_TRUE(os::purge(base, 2 * kHuge));
  EXPECT_TRUE(os::release(base, 3 * kHuge));
}

TEST_F(FakeMemoryTest, IllegalCallsEndTheProcess) {
  void* const base = os::reserve(10 * 4096, 4096);
  EXPECT_DEATH(os::commit(at(base, 16), 4096), "illegal commit.*inside a page");
  EXPECT_DEATH(os::commit(base, 100), "illegal commit.*whole pages");
  EXPECT_DEATH(os::commit(base, 0), "illegal commit.*no bytes");
  EXPECT_DEATH(os::commit(at(base, 9 * 4096), 2 * 4096), "illegal commit.*reserved");
  EXPECT_DEATH(os::purge(base, 4096), "illegal purge.*usable");
  EXPECT_DEATH(os::decommit(base, 4096), "illegal decommit.*usable");
  EXPECT_DEATH(os::release(at(base, 9 * 4096), 2 * 4096), "illegal release.*mapped");
  EXPECT_DEATH(os::resize_in_place(base, 4096, 8192), "illegal resize_in_place");
  fake::set_page_size(64_KiB);
  EXPECT_DEATH(os::commit(base, 4096), "illegal commit");
}

}  // namespace
}  // namespace arenite
