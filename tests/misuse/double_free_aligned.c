// A block with an alignment of its own is freed twice.
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// RUN: 64 24
// RUN: 256 200
// RUN: 1024 3000
// RUN: 4096 40000
// EXPECT: double free or corruption (!prev)
// EXPECT: free(): double free detected in tcache 2
// EXPECT: munmap_chunk(): invalid pointer
// EXPECT: free(): invalid pointer
// RUN: 4096 2097152
#include "misuse.h"

int main(int count, char** arguments) {
  void* block = NULL;
  if (posix_memalign(&block, number(count, arguments, 1, 64), number(count, arguments, 2, 24)) != 0) return 3;
  block = hide(block);
  free(block);
  free(misused(block));
  return survived();
}
