#include "os/memory_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/bits.h"

namespace arenite::os {
namespace {

TEST(MemoryMap, FindsCodeDataAndStack) {
  Mapping mapping;
  ASSERT_TRUE(find_mapping(reinterpret_cast<std::uintptr_t>(&find_mapping), &mapping));
  EXPECT_TRUE(mapping.executable);
  EXPECT_TRUE(mapping.name_view().ends_with("unit_tests")) << mapping.name_view();
  EXPECT_GT(mapping.file_offset, 0U);
  int local = 0;
  ASSERT_TRUE(find_mapping(address_of(&local), &mapping));
  EXPECT_FALSE(mapping.executable);
  EXPECT_EQ(mapping.name_view(), "[stack]");
  EXPECT_LE(mapping.start, address_of(&local));
  EXPECT_GT(mapping.end, address_of(&local));
}

TEST(MemoryMap, TheEndIsOutside) {
  char* const pages = static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + 4096, 4096, PROT_READ | PROT_WRITE), 0);
  Mapping mapping;
  ASSERT_TRUE(find_mapping(address_of(pages + 4096), &mapping));
  EXPECT_EQ(mapping.start, address_of(pages + 4096));
  ASSERT_TRUE(find_mapping(address_of(pages + 2 * 4096), &mapping));
  EXPECT_EQ(mapping.start, address_of(pages + 2 * 4096));
  munmap(pages, 3 * 4096);
}

TEST(MemoryMap, OfALongNameTheEndIsKept) {
  char directory[] = "/tmp/memory_map_test.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string folder = std::string(directory) + "/" + std::string(200, 'a') + "/" + std::string(200, 'b');
  std::filesystem::create_directories(folder);
  const int file = open((folder + "/library.so").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(page, MAP_FAILED);
  Mapping mapping;
  ASSERT_TRUE(find_mapping(address_of(page), &mapping));
  EXPECT_EQ(mapping.name_view(), std::string(sizeof mapping.name - 11, 'b') + "/library.so");
  munmap(page, 4096);
  close(file);
  std::filesystem::remove_all(directory);
}

TEST(MemoryMap, FindsNothingWhereNothingIs) {
  Mapping mapping;
  EXPECT_FALSE(find_mapping(0, &mapping));
  EXPECT_FALSE(find_mapping(~std::uintptr_t{0}, &mapping));
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(find_mapping(address_of(page), &mapping));
  EXPECT_TRUE(mapping.name_view().empty());
  munmap(page, 4096);
  EXPECT_FALSE(find_mapping(address_of(page), &mapping) && mapping.start == address_of(page));
}

TEST(MemoryMap, IsWrittenWhole) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  write_memory_map(ends[1]);
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t count; (count = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(count));
  close(ends[0]);
  EXPECT_NE(text.find("unit_tests"), std::string::npos);
  EXPECT_NE(text.find("[stack]"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace arenite::os
