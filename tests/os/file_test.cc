#include "os/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "fake/file.h"

namespace arenite::os {
namespace {

class FileTest : public ::testing::TestWithParam<std::string_view (*)(const char*, char*, std::size_t)> {
 protected:
  FileTest() { fake::forget_files(); }
};

TEST_P(FileTest, AsMuchAsFits) {
  const auto read = GetParam();
  char path[] = "/tmp/arenite_file_test.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(path) << "some text";
  char buffer[20];
  EXPECT_EQ(read(path, buffer, sizeof buffer), "some text");
  EXPECT_EQ(read(path, buffer, 4), "some");
  EXPECT_EQ(read(path, buffer, 0), "");
  unlink(path);
  EXPECT_EQ(read(path, buffer, sizeof buffer), "") << "not there";
  EXPECT_EQ(read("/", buffer, sizeof buffer), "") << "not a file";
}

INSTANTIATE_TEST_SUITE_P(Both, FileTest, ::testing::Values(real_os::read_file, os::read_file),
                         [](const auto& instance) { return std::string(instance.index == 0 ? "real" : "fake"); });

TEST(FakeFile, MadeUpFilesStandInFrontOfTheRealOnes) {
  fake::forget_files();
  char buffer[20];
  fake::set_file("/proc/self/comm", "made up");
  fake::set_file("/not/there", "");
  EXPECT_EQ(read_file("/proc/self/comm", buffer, sizeof buffer), "made up");
  EXPECT_EQ(read_file("/proc/self/comm", buffer, 4), "made");
  EXPECT_EQ(read_file("/not/there", buffer, sizeof buffer), "");
  fake::hide("/proc/self/");
  EXPECT_EQ(read_file("/proc/self/comm", buffer, sizeof buffer), "made up") << "in a hidden folder";
  EXPECT_EQ(read_file("/proc/self/status", buffer, sizeof buffer), "");
  fake::forget_files();
  EXPECT_EQ(read_file("/proc/self/comm", buffer, 4), "unit");
  EXPECT_EQ(read_file("/proc/self/status", buffer, 4), "Name");
}

}  // namespace
}  // namespace arenite::os
