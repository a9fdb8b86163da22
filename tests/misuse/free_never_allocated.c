// An address in the heap is freed that no block has ever had: arguments are a size and a distance from a block of it.
// EXPECT: free(): invalid pointer
// RUN: 24 1048576
// RUN: 200 4194304
// RUN: 3000 1048576
// RUN: 40000 33554432
// RUN: 24 16777216
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = (char*)block_of(size);
  // Downwards as well as upwards lies nothing that starts a block, whatever the layout of the heap is.
  free(misused(block + number(count, arguments, 2, 1048576)));
  return survived();
}
