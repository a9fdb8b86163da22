#include "os/symbols.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace arenite {
namespace {

TEST(Symbols, FindsFunctionsOfTheProcessAndNoOthers) {
  EXPECT_NE(os::find_symbol("strtol"), nullptr);
  EXPECT_EQ(os::find_symbol("a_function_that_nobody_has"), nullptr);
  EXPECT_NE(os::find_next_symbol("strtol"), nullptr);
  EXPECT_EQ(os::find_next_symbol("a_function_that_nobody_has"), nullptr);
}

}  // namespace
}  // namespace arenite
