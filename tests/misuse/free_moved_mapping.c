// realloc moved or cut a large block; an address at its old end is freed.
// EXPECT: free(): invalid pointer
// EXPECT: munmap_chunk(): invalid pointer
// RUN: 67108864
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = (char*)block_of(size);
  char* const smaller = (char*)hide(realloc(block, size / 2));
  if (smaller == NULL) return 3;
  free(misused(smaller + size / 2 + 65536));
  return survived();
}
