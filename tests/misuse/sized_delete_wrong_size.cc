// An object is deleted with a wrong size: arguments are the true size and the one given.
// EXPECT: free(): invalid size
// RUN: 24 200
// RUN: 200 24
// RUN: 3000 200
// RUN: 200 3000
// RUN: 40000 24
// RUN: 24 40000
// RUN: 2097152 24
// RUN: 24 2097152
// RUN: 40000 2097152
// RUN: 2097152 40000
#include <new>

#include "misuse.h"

// Not every compiler declares this one by itself.
void operator delete(void*, size_t) noexcept;

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  void* const block = hide(operator new(size));
  operator delete(misused(block), number(count, arguments, 2, 200));
  return survived();
}
