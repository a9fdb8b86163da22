#include "os/abort_message.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "fake/memory.h"

namespace arenite::os {
namespace {

const char* text_for_crash_tools() {
  const auto* const pointer = static_cast<char* const*>(dlsym(RTLD_DEFAULT, "__abort_msg"));
  return pointer == nullptr || *pointer == nullptr ? nullptr : *pointer + sizeof(unsigned int);
}

std::string memory_map() {
  std::ifstream file("/proc/self/maps");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AbortMessage, StandsWhereLibcKeepsIts) {
  if (dlsym(RTLD_DEFAULT, "__abort_msg") == nullptr) GTEST_SKIP() << "this libc has no such place";
  leave_abort_message("first words");
  EXPECT_STREQ(text_for_crash_tools(), "first words");
  leave_abort_message("other words\nin two lines");
  EXPECT_STREQ(text_for_crash_tools(), "other words\nin two lines");
}

TEST(AbortMessage, TheMappingHasAName) {
  leave_abort_message("words");
  const std::string map = memory_map();
  if (map.find("[anon:") == std::string::npos) GTEST_SKIP() << "this kernel has no names for mappings";
  EXPECT_NE(map.find("arenite: report"), std::string::npos);
}

TEST(AbortMessage, OneMappingAtATime) {
  leave_abort_message("words");
  const std::size_t before = fake::mapped_bytes();
  for (int i = 0; i < 100; ++i) leave_abort_message("more words");
  EXPECT_EQ(fake::mapped_bytes(), before);
}

TEST(AbortMessage, ALongTextIsKeptWhole) {
  const std::string text(10000, 'x');
  leave_abort_message(text);
  if (text_for_crash_tools() == nullptr) GTEST_SKIP() << "this libc has no such place";
  EXPECT_EQ(text_for_crash_tools(), text);
}

}  // namespace
}  // namespace arenite::os
