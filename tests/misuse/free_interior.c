// An address inside of a live block is freed: arguments are the size of the block and the offset.
// EXPECT: free(): invalid pointer
// RUN: 24 1
// RUN: 24 8
// RUN: 24 16
// RUN: 200 16
// RUN: 200 192
// RUN: 3000 8
// RUN: 3000 16
// RUN: 3000 1024
// RUN: 3000 2048
// RUN: 40000 16
// RUN: 40000 16384
// RUN: 40000 4096
// EXPECT: free(): invalid pointer
// EXPECT: munmap_chunk(): invalid pointer
// RUN: 2097152 1
// RUN: 2097152 16
// RUN: 2097152 4096
// RUN: 2097152 1048576
// RUN: 104857600 67108864
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = (char*)block_of(size);
  free(misused(block + number(count, arguments, 2, 16)));
  return survived();
}
