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

#include <cstring>

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
                          real_os::move};
constexpr Functions kFake{"fake",    os::page_size, os::reserve,  os::reserve_at, os::commit, os::make_readable,
                          os::purge, os::replace,   os::decommit, os::release,    os::map,    os::resize_in_place,
                          os::move};

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
  EXPECT_TRUE(os_.release(base, 4 * page_));
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

TEST_P(MemoryTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(os_.map(std::size_t{1} << 60, page_), nullptr);
  EXPECT_EQ(os_.map(page_, std::size_t{1} << 60), nullptr);
  EXPECT_EQ(os_.reserve(SIZE_MAX - page_ + 1, page_), nullptr);
  EXPECT_EQ(os_.reserve(std::size_t{1} << 47, 64_MiB), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Both, MemoryTest, ::testing::Values(kReal, kFake),
                         [](const auto& instance) { return std::string(instance.param.name); });

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
