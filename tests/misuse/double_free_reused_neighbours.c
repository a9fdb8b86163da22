// A block is freed again after other sizes have come and gone, and a trim.
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// EXPECT: free(): invalid pointer
// RUN: 24
// RUN: 200
// RUN: 3000
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = block_of(size);
  free(block);
  for (size_t other = 16; other < 60000; other += other / 2) {
    if (other * 2 > size && other < size * 2) continue;  // may get the very slot: then nobody can tell
    if (malloc_usable_size(hide(malloc(other))) < other) return 3;
    if (other * 6 <= size || other * 3 >= size * 2) free(hide(malloc(other * 3)));
  }
  malloc_trim(0);
  free(misused(block));
  return survived();
}
