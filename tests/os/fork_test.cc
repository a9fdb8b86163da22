#include "os/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace arenite::os {
namespace {

int prepared = 0;
int in_parent = 0;
int in_child = 0;

TEST(Fork, EachHandlerRunsOnItsSide) {
  install_fork_handlers({.prepare = [] { ++prepared; }, .parent = [] { ++in_parent; }, .child = [] { ++in_child; }});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(prepared == 1 && in_parent == 0 && in_child == 1 ? 0 : 1);
  EXPECT_EQ(prepared, 1);
  EXPECT_EQ(in_parent, 1);
  EXPECT_EQ(in_child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace arenite::os
