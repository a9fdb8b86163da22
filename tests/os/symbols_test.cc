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
  EXPECT_NE(os::find_symbol_in("libc.so.6", "strtol"), nullptr);
  EXPECT_EQ(os::find_symbol_in("libc.so.6", "a_function_that_nobody_has"), nullptr);
  EXPECT_EQ(os::find_symbol_in("a_library_that_is_not_loaded.so", "strtol"), nullptr);
}

}  // namespace
}  // namespace arenite
