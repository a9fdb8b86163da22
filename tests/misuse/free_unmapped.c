// A large block is freed and with it its mapping; after other calls its address is freed again.
// EXPECT: double free or corruption (!prev)
// EXPECT: free(): double free detected in tcache 2
// EXPECT: munmap_chunk(): invalid pointer
// EXPECT: free(): invalid pointer
// RUN: 67108864
// RUN: 41943040
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = block_of(size);
  free(block);
  for (size_t other = 16; other < 100000; other *= 2) free(hide(malloc(other)));
  free(misused(block));
  return survived();
}
