// What the programs see of the hardening features, where they are on; without them the same calls just work.
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <new>
#include <string>

#include "support.h"

namespace {

using api::hide;

// In a child of its own; the signal that ended it, 0 if none did.
template <typename Body>
int signal_of(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    fclose(stderr);
    close(2);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(Hardening, UsableSizesAreExact) {
  for (const std::size_t size : api::many_sizes(4 * api::kMib)) {
    char* block = static_cast<char*>(malloc(size));
    if (api::is_hardened()) {
      EXPECT_EQ(malloc_usable_size(block), size);
    }
    for (const std::size_t other : {size + 1, size * 2 + 5, size / 2 + 1}) {
      block = static_cast<char*>(realloc(block, other));
      ASSERT_NE(block, nullptr);
      if (api::is_hardened()) {
        ASSERT_EQ(malloc_usable_size(block), other);
      }
      std::memset(block, 1, other);
    }
    free(block);
  }
}

TEST(Hardening, AnyByteBehindTheRequestedOnesCounts) {
  if (!api::is_hardened()) GTEST_SKIP();
  for (const std::size_t size : api::many_sizes(300 * api::kKib)) {
    if (size == 0) continue;
    const auto overflow = [=] {
      auto* const block = static_cast<char*>(malloc(size));
      static_cast<char*>(hide(block))[size] = 0;  // as a string's end
      free(block);
    };
    ASSERT_EQ(signal_of(overflow), SIGABRT) << size;
  }
}

TEST(Hardening, MemoryIsHandedOutZeroed) {
  if (!api::is_hardened()) GTEST_SKIP();
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = 1 + static_cast<std::size_t>(round) * 13 % 20000;
    auto* const block = static_cast<unsigned char*>(malloc(size));
    for (std::size_t index = 0; index < size; ++index) ASSERT_EQ(block[index], 0);
    std::memset(block, 0xaa, size);
    free(block);
  }
}

TEST(Hardening, AWriteAfterFreeIsSeenAtReuse) {
  if (!api::is_hardened()) GTEST_SKIP();
  const auto write_after_free = [] {
    auto* const block = static_cast<char*>(malloc(100));
    free(block);
    static_cast<char*>(hide(block))[50] = 1;
    for (int i = 0; i < 5000; ++i) free(hide(malloc(100)));
  };
  EXPECT_EQ(signal_of(write_after_free), SIGABRT);
}

TEST(Hardening, TheKindsOfNewAreToldApart) {
  const int expected = api::is_hardened() ? SIGABRT : 0;
  EXPECT_EQ(signal_of([] { free(operator new(10)); }), expected);
  EXPECT_EQ(signal_of([] { operator delete(operator new[](10)); }), expected);
  EXPECT_EQ(signal_of([] { operator delete[](malloc(10)); }), expected);
  EXPECT_EQ(signal_of([] { operator delete[](operator new[](10)); }), 0);
  EXPECT_EQ(signal_of([] { operator delete[](operator new[](10, std::nothrow), std::nothrow); }), 0);
  EXPECT_EQ(signal_of([] { operator delete (operator new (10, std::align_val_t{64}), std::align_val_t{64}); }), 0);
}

}  // namespace
