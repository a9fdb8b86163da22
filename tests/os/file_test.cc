#include "os/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace arenite::os {
namespace {

TEST(File, AsMuchAsFits) {
  char path[] = "/tmp/arenite_file_test.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(path) << "some text";
  char buffer[20];
  EXPECT_EQ(read_file(path, buffer, sizeof buffer), "some text");
  EXPECT_EQ(read_file(path, buffer, 4), "some");
  EXPECT_EQ(read_file(path, buffer, 0), "");
  unlink(path);
  EXPECT_EQ(read_file(path, buffer, sizeof buffer), "") << "not there";
  EXPECT_EQ(read_file("/", buffer, sizeof buffer), "") << "not a file";
}

}  // namespace
}  // namespace arenite::os
