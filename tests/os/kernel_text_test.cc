#include "os/kernel_text.h"

#include <gtest/gtest.h>

namespace arenite::os {
namespace {

TEST(KernelText, ANumberIsTheDigitsAtTheStart) {
  EXPECT_EQ(leading_number("0"), 0U);
  EXPECT_EQ(leading_number("4096\n"), 4096U);
  EXPECT_EQ(leading_number("200000 100000"), 200000U);
  EXPECT_EQ(leading_number("18446744073709551614"), UINT64_MAX - 1);
  for (const char* const none : {"", "max", "-1", " 5", "18446744073709551616", "99999999999999999999999"}) {
    EXPECT_EQ(leading_number(none), kNoNumber) << none;
  }
}

TEST(KernelText, AValueStandsBehindTheNameAtTheStartOfALine) {
  constexpr const char* kText = "Name:\tcat\nnot_size: 1\nsizes: 2\nsize:   30 kB\nsize: 4\nempty:\nlast: 5";
  EXPECT_EQ(line_value(kText, "Name"), "cat");
  EXPECT_EQ(line_value(kText, "size"), "30 kB") << "the first of two";
  EXPECT_EQ(line_value(kText, "empty"), "");
  EXPECT_EQ(line_value(kText, "last"), "5") << "without an end of line";
  EXPECT_EQ(line_value(kText, "cat"), "");
  EXPECT_EQ(line_value("", "size"), "");
  EXPECT_EQ(line_value("size", "size"), "") << "cut off";
}

}  // namespace
}  // namespace arenite::os
