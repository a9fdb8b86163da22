// free_sized gets a wrong size: arguments are the true size and the one given.
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
#include "misuse.h"

typedef void (*FreeSized)(void*, size_t);

int main(int count, char** arguments) {
  const size_t size = number(count, arguments, 1, 24);
  const FreeSized free_sized_function = (FreeSized)dlsym(RTLD_DEFAULT, "free_sized");
  if (free_sized_function == NULL) return 3;
  void* const block = block_of(size);
  free_sized_function(misused(block), number(count, arguments, 2, 200));
  return survived();
}
