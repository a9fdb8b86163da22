#include "os/fork.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace arenite::os {
namespace {

int prepared = 0;
int in_parent = 0;
int in_child = 0;

TEST(Fork, EachHandlerRunsOnItsSide) {
  install_fork_handlers(
      {.prepare = [] { ++prepared; }, .parent = [] { ++in_parent; }, .child = [] { ++in_child; }, .raw_child = [] {}});
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

pid_t fork_without_handlers() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

template <typename Fork>
int status_of_child(Fork fork, int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

int raw_repairs = 0;

TEST(Fork, AChildWithoutHandlersIsRepairedOnce) {
  install_fork_handlers({.prepare = [] {}, .parent = [] {}, .child = [] {}, .raw_child = [] { ++raw_repairs; }});
  std::thread([] {}).join();  // from now on there may be others
  watch_for_raw_forks();
  const auto is_repaired_once = [] {
    return repair_after_raw_fork() && raw_repairs == 1 && !repair_after_raw_fork() ? 0 : 1;
  };
  EXPECT_EQ(status_of_child(fork_without_handlers, is_repaired_once), 0);
  EXPECT_NE(status_of_child(fork, is_repaired_once), 0) << "its handlers have run";
  EXPECT_NE(is_repaired_once(), 0) << "the parent";
}

}  // namespace
}  // namespace arenite::os
