// An array is deleted with a wrong size.
// EXPECT: free(): invalid size
// RUN: 24 200
// RUN: 3000 200
#include <new>

#include "misuse.h"

// Not every compiler declares this one by itself.
void operator delete[](void*, size_t) noexcept;

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = hide(operator new[](size));
  operator delete[](misused(block), number(count, arguments, 2, 200));
  return survived();
}
