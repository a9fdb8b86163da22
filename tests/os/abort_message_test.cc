#include "os/abort_message.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/bits.h"
#include "fake/memory.h"
#include "os/memory.h"

namespace arenite::os {
namespace {

char** libcs_pointer() { return static_cast<char**>(dlsym(RTLD_DEFAULT, "__abort_msg")); }

const char* text_for_crash_tools() {
  char* const* const pointer = libcs_pointer();
  return pointer == nullptr || *pointer == nullptr ? nullptr : *pointer + sizeof(unsigned int);
}

unsigned int size_for_libc() {
  unsigned int size = 0;
  std::memcpy(&size, *libcs_pointer(), sizeof size);
  return size;
}

bool kernel_names_mappings() {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  constexpr int kSetVma = 0x53564d41;
  const bool named = prctl(kSetVma, 0, page, 4096, "a name") == 0;
  munmap(page, 4096);
  return named;
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
  if (!kernel_names_mappings()) GTEST_SKIP() << "this kernel has no names for mappings";
  leave_abort_message("words");
  EXPECT_NE(memory_map().find("arenite: report"), std::string::npos);
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
  EXPECT_EQ(size_for_libc(), align_up(sizeof(unsigned int) + text.size() + 1, page_size()));
}

// As libc's own messages do: the pointer is exchanged, and what it pointed to is unmapped.
TEST(AbortMessage, LibcMayUnmapIt) {
  if (libcs_pointer() == nullptr) GTEST_SKIP() << "this libc has no such place";
  leave_abort_message("words");
  const unsigned int size = size_for_libc();
  ASSERT_TRUE(release(*libcs_pointer(), size));
  *libcs_pointer() = nullptr;
  const std::size_t before = fake::mapped_bytes();
  leave_abort_message("more words");
  EXPECT_STREQ(text_for_crash_tools(), "more words");
  EXPECT_EQ(fake::mapped_bytes(), before + size_for_libc());
  leave_abort_message("and more");
  EXPECT_EQ(fake::mapped_bytes(), before + size_for_libc());
}

}  // namespace
}  // namespace arenite::os
