// An array is deleted and then freed.
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
#include <new>

#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* volatile block = operator new[](size);
  operator delete[](block);
  free(misused(block));
  return survived();
}
