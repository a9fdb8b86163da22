// A block is freed again after two thousand others of its size.
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// RUN: 24
// RUN: 200
// RUN: 3000
// EXPECT: free(): double free detected in tcache 2
// EXPECT: double free or corruption (!prev)
// EXPECT: free(): invalid pointer
// RUN: 40000
#include "misuse.h"

enum { kBlocks = 2000 };

static void* blocks[kBlocks];

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  for (int i = 0; i < kBlocks; i++) {
    blocks[i] = malloc(size);
    if (blocks[i] == NULL) return 3;
  }
  // Its neighbours live on, so that the span stays what it is; a run is a span of its own and may go.
  void* const block = blocks[7];
  for (int i = 0; i < kBlocks; i++) {
    if (i != 6 && i != 8) free(blocks[i]);
  }
  free(misused(block));
  return survived();
}
