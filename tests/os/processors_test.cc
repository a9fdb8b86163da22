#include "os/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace arenite::os {
namespace {

TEST(Processors, AsManyAsTheAffinityMaskSays) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(processor_count(), static_cast<std::size_t>(CPU_COUNT(&mask)));
}

TEST(Processors, OneWhereTheThreadIsPinned) {
  std::thread([] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(processor_count(), 1U);
  }).join();
}

}  // namespace
}  // namespace arenite::os
