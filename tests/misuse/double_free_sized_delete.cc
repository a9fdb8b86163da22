// An object is deleted twice, the second time with its size.
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

// Not every compiler declares this one by itself.
void operator delete(void*, size_t) noexcept;

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* volatile block = operator new(size);
  operator delete(block, size);
  operator delete(misused(block), size);
  return survived();
}
