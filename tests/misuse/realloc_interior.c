// An address inside of a live block is given to realloc: arguments are the size and the offset.
// EXPECT: realloc(): invalid pointer
// RUN: 24 8
// RUN: 24 16
// RUN: 200 16
// RUN: 3000 1024
// RUN: 40000 16384
// EXPECT: realloc(): invalid pointer
// EXPECT: mremap_chunk(): invalid pointer
// RUN: 2097152 4096
// RUN: 2097152 16
#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = (char*)block_of(size);
  if (realloc(misused(block + number(count, arguments, 2, 16)), size * 2) != NULL) return 4;
  return survived();
}
