#include "base/text.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <random>
#include <string>

namespace arenite {
namespace {

TEST(Text, PartsFollowEachOther) {
  Text<64> text;
  text.add("a").add('b').add("").add_decimal(12).add_hex(255);
  EXPECT_EQ(text.view(), "ab120xff");
  text.clear();
  EXPECT_EQ(text.view(), "");
}

TEST(Text, NumbersAreAsPrintfWritesThem) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t value = i < 2 ? static_cast<std::uint64_t>(-i) : random() >> (random() % 64);
    char expected[64];
    std::snprintf(expected, sizeof expected, "%" PRIu64 " 0x%" PRIx64 " %10" PRIu64, value, value, value);
    Text<64> text;
    text.add_decimal(value).add(' ').add_hex(value).add(' ').add_decimal(value, 10);
    EXPECT_EQ(text.view(), expected);
  }
}

TEST(Text, WhatDoesNotFitIsCutOff) {
  Text<4> text;
  text.add("abc");
  EXPECT_FALSE(text.full());
  text.add_decimal(987);
  EXPECT_EQ(text.view(), "abc9");
  EXPECT_TRUE(text.full());
  text.add('x').add("yz").add_hex(1).add_decimal(5, 20);
  EXPECT_EQ(text.view(), "abc9");
  text.clear();
  EXPECT_FALSE(text.full());
  EXPECT_EQ(text.add_decimal(5, 10).view(), "    ");
}

TEST(Text, PartsOfATextStayInsideIt) {
  EXPECT_EQ(first_part("abc", 0), "");
  EXPECT_EQ(first_part("abc", 2), "ab");
  EXPECT_EQ(first_part("abc", std::string_view::npos), "abc");
  EXPECT_EQ(rest_from("abc", 0), "abc");
  EXPECT_EQ(rest_from("abc", 2), "c");
  EXPECT_EQ(rest_from("abc", 3), "");
  EXPECT_EQ(rest_from("abc", 100), "");
}

}  // namespace
}  // namespace arenite
