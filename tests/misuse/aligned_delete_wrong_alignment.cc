// An object is deleted with an alignment that it does not have: arguments are its size and the alignment given.
// EXPECT: free(): invalid pointer
// EXPECT: free(): invalid size
// RUN: 24 4096
// RUN: 200 4096
// RUN: 3000 65536
// RUN: 64 1048576
#include <new>

#include "misuse.h"

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  const size_t alignment = number(count, arguments, 2, 4096);
  void* block = nullptr;
  // One that happens to be aligned that far would prove nothing.
  do {
    block = hide(operator new(size));
  } while (reinterpret_cast<uintptr_t>(block) % alignment == 0);
  operator delete (misused(block), std::align_val_t{alignment});
  return survived();
}
