#include "os/huge_pages.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bits.h"
#include "fake/file.h"

namespace arenite::os {
namespace {

class HugePagesTest : public ::testing::Test {
 protected:
  HugePagesTest() { fake::forget_files(); }
  ~HugePagesTest() override { fake::forget_files(); }
};

TEST_F(HugePagesTest, TheModeStandsInBrackets) {
  EXPECT_EQ(thp_mode_in("[always] madvise never\n"), ThpMode::kAlways);
  EXPECT_EQ(thp_mode_in("always [madvise] never\n"), ThpMode::kMadvise);
  EXPECT_EQ(thp_mode_in("always madvise [never]\n"), ThpMode::kNever);
  for (const char* const odd : {"", "always", "[", "[always", "[madvise", "[new] always\n", "[]"}) {
    EXPECT_EQ(thp_mode_in(odd), ThpMode::kNever) << odd;
  }
}

TEST_F(HugePagesTest, ThePoolsPagesAreMeasuredInKibibytes) {
  EXPECT_EQ(huge_page_size_in("HugePages_Surp:        0\nHugepagesize:       2048 kB\nHugetlb: 0 kB\n"), 2_MiB);
  EXPECT_EQ(huge_page_size_in("Hugepagesize:    1048576 kB\n"), 1024 * 1_MiB);
  for (const char* const none : {"", "MemTotal: 5 kB\n", "Hugepagesize:", "Hugepagesize: none\n"}) {
    EXPECT_EQ(huge_page_size_in(none), 0U) << none;
  }
}

TEST_F(HugePagesTest, TheFilesAreTheKernels) {
  fake::set_file("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  fake::set_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "4194304\n");
  fake::set_file("/proc/meminfo", "Hugepagesize: 64 kB\n");
  EXPECT_EQ(thp_mode(), ThpMode::kAlways);
  EXPECT_EQ(thp_size(), 4_MiB);
  EXPECT_EQ(default_huge_page_size(), 64_KiB);
  fake::set_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(thp_mode(), ThpMode::kMadvise);
}

TEST_F(HugePagesTest, AKernelThatDoesNotTellHasNone) {
  fake::hide("/sys/kernel/mm/");
  fake::hide("/proc/meminfo");
  EXPECT_EQ(thp_mode(), ThpMode::kNever);
  EXPECT_EQ(thp_size(), 0U);
  EXPECT_EQ(default_huge_page_size(), 0U);
}

TEST_F(HugePagesTest, TheLineMayStandFarBehindTheStart) {
  std::string meminfo;
  while (meminfo.size() < 8000) meminfo += "SomethingElse:     12345 kB\n";
  fake::set_file("/proc/meminfo", meminfo + "Hugepagesize:       2048 kB\n");
  EXPECT_EQ(default_huge_page_size(), 2_MiB);
}

TEST_F(HugePagesTest, TheMachinesSizesArePowersOfTwo) {
  for (const std::size_t size : {thp_size(), default_huge_page_size()}) EXPECT_EQ(size & (size - 1), 0U);
}

}  // namespace
}  // namespace arenite::os
