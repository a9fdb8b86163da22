#include "os/backtrace.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>

#include "base/bits.h"

namespace arenite::os {
namespace {

constexpr std::size_t kMost = 16;

// Frames as functions with frame pointers leave them: each points to the next.
class FrameChain {
 public:
  explicit FrameChain(std::size_t count) {
    for (std::size_t index = 0; index < count; ++index) {
      frames_[index][0] = index + 1 == count ? 0 : address_of(frames_[index + 1]);
      frames_[index][1] = 1000 + index;
    }
  }
  std::uintptr_t* frame(std::size_t index) { return frames_[index]; }
  std::size_t walk() { return backtrace_from(frames_[0], out, kMost); }

  std::uintptr_t out[kMost] = {};

 private:
  std::uintptr_t frames_[20][2];
};

TEST(Backtrace, FollowsTheChainToItsEnd) {
  FrameChain chain(5);
  ASSERT_EQ(chain.walk(), 5U);
  for (std::size_t index = 0; index < 5; ++index) EXPECT_EQ(chain.out[index], 1000 + index);
}

TEST(Backtrace, IsNoLongerThanWanted) {
  FrameChain chain(20);
  EXPECT_EQ(chain.walk(), kMost);
}

TEST(Backtrace, ALoopEndsIt) {
  FrameChain chain(5);
  chain.frame(2)[0] = address_of(chain.frame(1));
  EXPECT_EQ(chain.walk(), 3U);
  chain.frame(2)[0] = address_of(chain.frame(2));
  EXPECT_EQ(chain.walk(), 3U);
}

TEST(Backtrace, ASmashedFramePointerEndsIt) {
  FrameChain chain(5);
  for (const std::uintptr_t smashed :
       {std::uintptr_t{0x4141414141414141}, ~std::uintptr_t{0}, address_of(chain.frame(3)) + 1, std::uintptr_t{8}}) {
    chain.frame(2)[0] = smashed;
    EXPECT_EQ(chain.walk(), 3U) << smashed;
  }
}

TEST(Backtrace, UnmappedMemoryEndsIt) {
  char* const pages =
      static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(munmap(pages + 4096, 4096), 0);
  const std::uintptr_t frame[2] = {address_of(pages) + 4096 + 64, 7};
  std::memcpy(pages + 2048, frame, sizeof frame);
  std::uintptr_t out[kMost];
  EXPECT_EQ(backtrace_from(pages + 2048, out, kMost), 1U);
  EXPECT_EQ(backtrace_from(nullptr, out, kMost), 0U);
  munmap(pages, 4096);
}

#if defined(__GNUC__) && !defined(__clang__)
#define WITH_FRAME __attribute__((noinline, noclone, optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))

WITH_FRAME std::size_t innermost(std::uintptr_t* out) {
  const std::size_t count = backtrace_from(__builtin_frame_address(0), out, kMost);
  __asm__ volatile("" ::: "memory");
  return count;
}
WITH_FRAME std::size_t middle(std::uintptr_t* out) {
  const std::size_t count = innermost(out);
  __asm__ volatile("" ::: "memory");
  return count;
}
WITH_FRAME std::size_t outermost(std::uintptr_t* out) {
  const std::size_t count = middle(out);
  __asm__ volatile("" ::: "memory");
  return count;
}

bool is_in(std::uintptr_t address, std::size_t (*function)(std::uintptr_t*)) {
  const auto start = reinterpret_cast<std::uintptr_t>(function);
  return address > start && address < start + 100;
}

void* in_small_stack(void* argument) {
  *static_cast<std::size_t*>(argument) = [] {
    std::uintptr_t out[kMost];
    const std::size_t count = outermost(out);
    return count >= 2 && is_in(out[0], middle) && is_in(out[1], outermost) ? count : 0;
  }();
  return nullptr;
}

TEST(Backtrace, ShowsTheCallersInCodeWithFramePointers) {
  std::size_t count = 0;
  in_small_stack(&count);
  EXPECT_GE(count, 2U);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 16384), 0);
  pthread_t thread;
  count = 0;
  ASSERT_EQ(pthread_create(&thread, &attributes, in_small_stack, &count), 0);
  pthread_join(thread, nullptr);
  EXPECT_GE(count, 2U);
}
#endif

TEST(Backtrace, LibcsSeesTheCallers) {
  std::uintptr_t out[kMost];
  EXPECT_GE(backtrace_by_libc(out, kMost), 2U);
}

}  // namespace
}  // namespace arenite::os
