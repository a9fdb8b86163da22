#include "os/process_start.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace arenite::os {
namespace {

TEST(ProcessStart, TellsWhatTheKernelHandedOver) {
  const ProcessStart start = process_start();
  EXPECT_EQ(start.page_size, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(start.privileged);
  EXPECT_NE(start.random, 0U);
  ASSERT_NE(start.environment, nullptr);
  const char* const path = std::getenv("PATH");
  if (path != nullptr) {
    EXPECT_EQ(find_variable(start.environment, "PATH"), path);
  }
}

TEST(ProcessStart, TheEnvironmentIsTheInitialOne) {
  ASSERT_EQ(setenv("ARENITE_TEST_SET_LATER", "1", 1), 0);
  EXPECT_EQ(find_variable(process_start().environment, "ARENITE_TEST_SET_LATER").data(), nullptr);
  unsetenv("ARENITE_TEST_SET_LATER");
}

TEST(FindVariable, TheFirstOfTheExactNameCounts) {
  const char* const environment[] = {"AB=no", "A", "=odd", "A=first", "A=second", "EMPTY=", "TWO=a=b", nullptr};
  EXPECT_EQ(find_variable(environment, "A"), "first");
  EXPECT_EQ(find_variable(environment, "AB"), "no");
  EXPECT_EQ(find_variable(environment, "TWO"), "a=b");
  EXPECT_EQ(find_variable(environment, "B").data(), nullptr);
  EXPECT_EQ(find_variable(environment, "ABC").data(), nullptr);
  EXPECT_EQ(find_variable(environment, "EMPTY"), "");
  EXPECT_NE(find_variable(environment, "EMPTY").data(), nullptr) << "set, though to nothing";
}

TEST(FindVariable, NoEnvironmentHasNoVariables) {
  const char* const empty[] = {nullptr};
  EXPECT_EQ(find_variable(empty, "A").data(), nullptr);
  EXPECT_EQ(find_variable(nullptr, "A").data(), nullptr);
}

}  // namespace
}  // namespace arenite::os
