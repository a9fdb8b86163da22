// An address inside of an object is deleted with the size of the object.
// EXPECT: free(): invalid pointer
// EXPECT: free(): invalid size
// RUN: 24 8
// RUN: 24 16
// RUN: 200 16
// RUN: 3000 1024
// RUN: 40000 16384
#include <new>

#include "misuse.h"

// Not every compiler declares this one by itself.
void operator delete(void*, size_t) noexcept;

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = static_cast<char*>(hide(operator new(size)));
  operator delete(misused(block + number(count, arguments, 2, 16)), size);
  return survived();
}
