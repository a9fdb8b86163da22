// realloc moved a block, and the old address is freed.
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

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = block_of(size);
  void* const moved = hide(realloc(block, size * 20));
  if (moved == NULL || moved == hide(block)) return 3;
  free(misused(block));
  return survived();
}
