// free_aligned_sized gets a wrong size or alignment: arguments are the true alignment and size and the given ones.
// EXPECT: free(): invalid size
// EXPECT: free(): invalid pointer
// RUN: 64 64 64 4000
// RUN: 64 4000 64 64
// RUN: 16 40 16 40000
// RUN: 4096 40000 4096 100
// EXPECT: free(): invalid pointer
// EXPECT: free(): invalid size
// RUN: 64 64 8192 64
// RUN: 16 200 1048576 200
#include "misuse.h"

typedef void (*FreeAlignedSized)(void*, size_t, size_t);

int main(int count, char** arguments) {
  const FreeAlignedSized free_function = (FreeAlignedSized)dlsym(RTLD_DEFAULT, "free_aligned_sized");
  if (free_function == NULL) return 3;
  const size_t given_alignment = number(count, arguments, 3, 64);
  void* block = NULL;
  // One that happens to have the wrong alignment as well would prove nothing.
  do {
    block = hide(aligned_alloc(number(count, arguments, 1, 64), number(count, arguments, 2, 64)));
    if (block == NULL) return 3;
  } while (given_alignment != number(count, arguments, 1, 64) && (uintptr_t)block % given_alignment == 0);
  free_function(misused(block), given_alignment, number(count, arguments, 4, 64));
  return survived();
}
