#include "os/libc_symbols.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "os/symbols.h"

// Stands in front of libc's, as an allocator's would. Used by nothing else in the unit tests.
extern "C" __attribute__((visibility("default"))) void* pvalloc(std::size_t) noexcept { return nullptr; }

namespace arenite::os {
namespace {

// In a child, since it cannot be undone.
TEST(LibcSymbols, ALookUpInLibcGivesWhatTheRestOfTheProcessGets) {
  ASSERT_NE(find_symbol_in("libc.so.6", "pvalloc"), find_symbol("pvalloc"));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    void* const other = find_symbol_in("libc.so.6", "strtol");
    const bool redirected = redirect_libc_malloc() && redirect_libc_malloc() &&
                            find_symbol_in("libc.so.6", "pvalloc") == find_symbol("pvalloc") &&
                            find_symbol_in("libc.so.6", "malloc") == find_symbol("malloc") &&
                            find_symbol_in("libc.so.6", "strtol") == other;
    _exit(redirected ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace arenite::os
