#include "os/backtrace.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
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

TEST(Backtrace, AFrameWithoutReturnAddressEndsIt) {
  FrameChain chain(5);
  chain.frame(2)[1] = 0;
  EXPECT_EQ(chain.walk(), 2U);
}

TEST(Backtrace, AFrameTooFarAwayEndsIt) {
  constexpr std::size_t kBytes = 16_MiB;
  void* const pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const words = static_cast<std::uintptr_t*>(pages);
  const std::size_t far = (8_MiB + 64) / sizeof(std::uintptr_t);
  words[0] = address_of(words + far);
  words[1] = 7;
  words[far + 1] = 8;
  std::uintptr_t out[kMost];
  EXPECT_EQ(backtrace_from(words, out, kMost), 1U);
  words[0] -= 64;
  words[far - 64 / sizeof(std::uintptr_t) + 1] = 8;
  EXPECT_EQ(backtrace_from(words, out, kMost), 2U);
  munmap(pages, kBytes);
}

// A filter that lets the system call fail.
void forbid(unsigned number, unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
}

TEST(BacktraceDeathTest, FollowsTheChainWhereCheckedReadsAreForbidden) {
  const auto walk_under_filter = [](unsigned error) {
    FrameChain chain(5);
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    forbid(SYS_process_vm_readv, error);
    if (chain.walk() != 5) _exit(1);
    if (backtrace_from(page, chain.out, kMost) != 0) _exit(2);
    if (backtrace_from(nullptr, chain.out, kMost) != 0) _exit(3);
    forbid(SYS_rt_sigprocmask, error);
    _exit(chain.walk() == 0 ? 0 : 4);
  };
  EXPECT_EXIT(walk_under_filter(EPERM), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(walk_under_filter(ENOSYS), ::testing::ExitedWithCode(0), "");
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

// To ask for the address of its frame makes a function keep a frame pointer, whatever the compiler and its flags.
// The last statement makes the call before it no jump.
template <int kDepth>
__attribute__((noinline)) std::size_t call_down(std::uintptr_t* out) {
  void* volatile frame = __builtin_frame_address(0);
  std::size_t count = 0;
  if constexpr (kDepth == 0) {
    count = backtrace(out, kMost);
  } else {
    count = call_down<kDepth - 1>(out);
  }
  static_cast<void>(frame);
  __asm__ volatile("" ::: "memory");
  return count;
}

bool is_in(std::uintptr_t address, std::size_t (*function)(std::uintptr_t*)) {
  const auto start = reinterpret_cast<std::uintptr_t>(function);
  return address > start && address < start + 300;
}

bool shows_five_callers() {
  std::uintptr_t out[kMost] = {};
  const std::size_t count = call_down<4>(out);
  return count >= 5 && is_in(out[0], call_down<0>) && is_in(out[1], call_down<1>) && is_in(out[2], call_down<2>) &&
         is_in(out[3], call_down<3>) && is_in(out[4], call_down<4>);
}

void* walk_in_thread(void* shown) {
  *static_cast<bool*>(shown) = shows_five_callers();
  return nullptr;
}

TEST(Backtrace, ShowsTheCallersInCodeWithFramePointers) {
  EXPECT_TRUE(shows_five_callers());
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 16384), 0);
  pthread_t thread;
  bool shown = false;
  ASSERT_EQ(pthread_create(&thread, &attributes, walk_in_thread, &shown), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(shown);
}

#if defined(__x86_64__)
TEST(Backtrace, ReturnAddressesAreBehindCalls) {
  const auto behind = [](std::initializer_list<unsigned char> code) {
    unsigned char bytes[32];
    std::memset(bytes, 0x90, sizeof bytes);
    std::memcpy(bytes + 16 - code.size(), code.begin(), code.size());
    return is_return_address(address_of(bytes + 16));
  };
  EXPECT_TRUE(behind({0xE8, 1, 2, 3, 4}));              // call there
  EXPECT_TRUE(behind({0xFF, 0xD0}));                    // call *%rax
  EXPECT_TRUE(behind({0x41, 0xFF, 0xD4}));              // call *%r12
  EXPECT_TRUE(behind({0xFF, 0x50, 0x10}));              // call *16(%rax)
  EXPECT_TRUE(behind({0xFF, 0x54, 0x24, 0x08}));        // call *8(%rsp)
  EXPECT_TRUE(behind({0xFF, 0x15, 1, 2, 3, 4}));        // call *there(%rip)
  EXPECT_TRUE(behind({0xFF, 0x94, 0xC8, 1, 2, 3, 4}));  // call *there(%rax,%rcx,8)
  EXPECT_FALSE(behind({0xE9, 1, 2, 3, 4}));             // jmp there
  EXPECT_FALSE(behind({0xFF, 0xE0}));                   // jmp *%rax
  EXPECT_FALSE(is_return_address(0));
  EXPECT_FALSE(is_return_address(0x4141414141414141));
}

// Behind no call, which other functions may be: one that never returns can be the last instruction before them.
extern "C" void starts_behind_no_call();
__asm__(
    ".pushsection .text\n"
    ".skip 16, 0x90\n"
    "starts_behind_no_call: ret\n"
    ".popsection");

TEST(Backtrace, AFunctionsStartIsNoReturnAddress) {
  alignas(16) std::uintptr_t functions[2] = {0, reinterpret_cast<std::uintptr_t>(&starts_behind_no_call)};
  std::uintptr_t out[kMost];
  ASSERT_EQ(backtrace_from(functions, out, kMost), 1U);
  EXPECT_FALSE(is_return_address(out[0]));
}

std::uintptr_t handler_returns_to = 0;
void note_return_address(int) { handler_returns_to = address_of(__builtin_return_address(0)); }

TEST(Backtrace, SignalHandlersReturnToo) {
  const auto former = std::signal(SIGUSR1, note_return_address);
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, former);
  EXPECT_TRUE(is_return_address(handler_returns_to));
}
#endif

TEST(Backtrace, LibcsSeesTheCallers) {
  std::uintptr_t out[kMost];
  EXPECT_GE(backtrace_by_libc(out, kMost), 2U);
}

}  // namespace
}  // namespace arenite::os
