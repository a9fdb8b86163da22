// An address inside of a large block is freed that is no longer mapped.
// EXPECT: free(): invalid pointer
// EXPECT: munmap_chunk(): invalid pointer
// RUN: 67108864 4096
// RUN: 67108864 16
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = (char*)block_of(size);
  free(block);
  free(misused((char*)hide(block) + number(count, arguments, 2, 4096)));
  return survived();
}
