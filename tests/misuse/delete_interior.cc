// An address inside of an object is deleted: arguments are the size and the offset.
// EXPECT: free(): invalid pointer
// RUN: 24 8
// RUN: 200 16
// RUN: 3000 1024
// RUN: 40000 16384
// EXPECT: free(): invalid pointer
// EXPECT: munmap_chunk(): invalid pointer
// RUN: 2097152 4096
#include <new>

#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  char* const block = static_cast<char*>(hide(operator new(size)));
  operator delete(misused(block + number(count, arguments, 2, 16)));
  return survived();
}
