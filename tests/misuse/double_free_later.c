// A block is freed again after some others of its size.
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// RUN: 24
// RUN: 200
// RUN: 3000
// RUN: 40000
// EXPECT: double free or corruption (!prev)
// EXPECT: free(): double free detected in tcache 2
// EXPECT: munmap_chunk(): invalid pointer
// EXPECT: free(): invalid pointer
// RUN: 2097152
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* blocks[10];
  for (int i = 0; i < 10; i++) blocks[i] = block_of(size);
  for (int i = 0; i < 10; i++) free(blocks[i]);
  free(misused(blocks[2]));
  return survived();
}
