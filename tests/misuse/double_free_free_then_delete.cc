// A block is freed and then deleted.
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
#include <new>

#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = block_of(size);
  free(block);
  operator delete(misused(block));
  return survived();
}
