#include "os/errno_keeper.h"

#include <gtest/gtest.h>

namespace arenite::os {
namespace {

TEST(ErrnoKeeper, ErrnoIsAsItWas) {
  errno = 11;
  {
    const ErrnoKeeper outer;
    errno = 22;
    {
      const ErrnoKeeper inner;
      errno = 33;
    }
    EXPECT_EQ(errno, 22);
  }
  EXPECT_EQ(errno, 11);
}

}  // namespace
}  // namespace arenite::os
