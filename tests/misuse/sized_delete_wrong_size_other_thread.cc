// Another thread deletes an object with a wrong size.
// EXPECT: free(): invalid size
// RUN: 24 200
// RUN: 3000 200
// RUN: 40000 24
#include <new>

#include "misuse.h"

// Not every compiler declares this one by itself.
void operator delete(void*, size_t) noexcept;

static size_t wrong_size;

static void* delete_it(void* block) {
  operator delete(misused(block), wrong_size);
  return nullptr;
}

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  wrong_size = number(count, arguments, 2, 200);
  in_thread(delete_it, hide(operator new(size)));
  return survived();
}
