#include "base/zero.h"

#include <gtest/gtest.h>

namespace arenite {
namespace {

TEST(Zero, EveryByteCounts) {
  for (std::size_t bytes = 0; bytes < 100; bytes += 16) {
    unsigned char memory[101] = {};
    memory[bytes] = 1;  // behind
    EXPECT_TRUE(is_zero(memory, bytes));
    for (std::size_t at = 0; at < bytes; ++at) {
      memory[at] = 0x80;
      EXPECT_FALSE(is_zero(memory, bytes)) << at << " of " << bytes;
      memory[at] = 0;
    }
  }
}

}  // namespace
}  // namespace arenite
