// The address of a function is freed: of the program, or of the allocator itself.
// EXPECT: free(): invalid pointer
// RUN: main
// RUN: malloc
#include "misuse.h"

int main(int count, char** arguments) {
  const int own = count > 1 && strcmp(arguments[1], "main") == 0;
  const uintptr_t address = own ? (uintptr_t)&main : (uintptr_t)&malloc;
  free(hide(malloc(10)));
  free(misused((void*)(address & ~(uintptr_t)15)));
  return survived();
}
