// A block from calloc is freed twice, with another one freed in between.
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
  void* const block = hide(calloc(size, 1));
  void* const other = hide(calloc(size, 1));
  free(block);
  free(other);
  free(misused(block));
  return survived();
}
