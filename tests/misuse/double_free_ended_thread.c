// The thread that allocated and freed the block has ended before the second free.
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

static size_t size;
static void* freed;

static void* allocate_and_free(void* argument) {
  freed = block_of(size);
  free(freed);
  return argument;
}

int main(int count, char** arguments) {
  size = number(count, arguments, 1, 24);
  in_thread(allocate_and_free, NULL);
  free(misused(freed));
  return survived();
}
