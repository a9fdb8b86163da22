// An address shortly before a block is freed: arguments are the size of the block and the distance.
// EXPECT: free(): invalid pointer
// RUN: 24 1
// RUN: 24 8
// RUN: 200 16
// RUN: 3000 16
// RUN: 40000 16
// RUN: 2097152 16
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = (char*)block_of(size);
  free(misused(block - number(count, arguments, 2, 8)));
  return survived();
}
