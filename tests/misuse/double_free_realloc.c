// A freed block is given to realloc.
// EXPECT: realloc(): invalid pointer
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// RUN: 24
// RUN: 200
// RUN: 3000
// RUN: 40000
// EXPECT: realloc(): invalid pointer
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// EXPECT: mremap_chunk(): invalid pointer
// EXPECT: munmap_chunk(): invalid pointer
// EXPECT: free(): invalid pointer
// RUN: 2097152
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = block_of(size);
  free(block);
  if (realloc(misused(block), size * 2) != NULL) return 4;
  return survived();
}
