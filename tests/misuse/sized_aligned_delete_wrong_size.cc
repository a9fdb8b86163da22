// An aligned object is deleted with a wrong size: arguments are the alignment, the true size and the one given.
// EXPECT: free(): invalid size
// RUN: 64 64 4000
// RUN: 64 4000 64
// RUN: 256 3000 40000
#include <new>

#include "misuse.h"

// Not every compiler declares this one by itself.
void operator delete(void*, size_t, std::align_val_t) noexcept;

int main(int count, char** arguments) {
  const auto alignment = static_cast<std::align_val_t>(number(count, arguments, 1, 64));
  void* const block = hide(operator new(number(count, arguments, 2, 64), alignment));
  operator delete(misused(block), number(count, arguments, 3, 4000), alignment);
  return survived();
}
