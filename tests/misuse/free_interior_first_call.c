// The first call of a thread is the free of an address inside of a block.
// EXPECT: free(): invalid pointer
// RUN: 24
// RUN: 200
// RUN: 3000
// RUN: 40000
#include "misuse.h"

static void* free_inside(void* block) {
  free(misused((char*)block + 16));
  return NULL;
}

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  in_thread(free_inside, block_of(size));
  return survived();
}
