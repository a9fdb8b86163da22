#include "os/syscall.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace arenite::os {
namespace {

TEST(SystemCall, TheAnswerIsTheKernels) {
  EXPECT_EQ(system_call(SYS_getpid), getpid());
  errno = 123;
  EXPECT_EQ(system_call(SYS_close, -1), -EBADF);
  EXPECT_EQ(errno, 123) << "errno is libc's";
}

TEST(SystemCall, AllSixArgumentsArrive) {
  const long page = sysconf(_SC_PAGESIZE);
  const long result = system_call(SYS_mmap, 0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_FALSE(failed(result));
  EXPECT_EQ(system_call(SYS_munmap, result, page), 0);
  EXPECT_EQ(system_call(SYS_mmap, 0, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1), -EINVAL) << "the sixth";
  EXPECT_EQ(system_call(SYS_mmap, 0, page, PROT_READ, MAP_PRIVATE, -1, 0), -EBADF) << "the fourth and the fifth";
}

TEST(SystemCall, OnlySmallNegativeAnswersAreFailures) {
  EXPECT_TRUE(failed(-1));
  EXPECT_TRUE(failed(-4095));
  EXPECT_FALSE(failed(-4096));
  EXPECT_FALSE(failed(0));
  EXPECT_FALSE(failed(1));
}

TEST(SystemCall, ArgumentsKeepTheirBits) {
  int object = 0;
  EXPECT_EQ(reinterpret_cast<void*>(as_argument(&object)), &object);
  EXPECT_EQ(static_cast<std::size_t>(as_argument(SIZE_MAX)), SIZE_MAX);
}

}  // namespace
}  // namespace arenite::os
