#include "os/safe_read.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace arenite::os {
namespace {

TEST(SafeRead, ReadsWhatIsThere) {
  const int from = 17;
  int to = 0;
  EXPECT_TRUE(safe_read(&from, &to, sizeof to));
  EXPECT_EQ(to, 17);
}

TEST(SafeRead, RefusesWhatIsNot) {
  const auto page = static_cast<std::size_t>(getpagesize());
  char to[16];
  EXPECT_FALSE(safe_read(nullptr, to, 1));
  EXPECT_FALSE(safe_read(reinterpret_cast<void*>(~0UL), to, 1));
  char* const pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  EXPECT_TRUE(safe_read(pages + page - 8, to, 8));
  EXPECT_FALSE(safe_read(pages + page - 8, to, 9)) << "not all of it";
  ASSERT_EQ(munmap(pages, 2 * page), 0);
  EXPECT_FALSE(safe_read(pages, to, 1));
}

}  // namespace
}  // namespace arenite::os
