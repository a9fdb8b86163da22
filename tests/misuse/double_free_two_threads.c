// Both frees are made by threads other than the one that allocated the block.
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
#include "misuse.h"

static void* free_once(void* block) {
  free(block);
  return NULL;
}

static void* free_again(void* block) {
  free(misused(block));
  return NULL;
}

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = block_of(size);
  in_thread(free_once, block);
  in_thread(free_again, block);
  return survived();
}
