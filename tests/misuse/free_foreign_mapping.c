// Memory that the program mapped itself is freed.
// EXPECT: free(): invalid pointer
// RUN: 0
// RUN: 16
// RUN: 4096
// RUN: 2097152
#include "misuse.h"

int main(int count, char** arguments) {
  char* const mapping = (char*)mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((void*)mapping == MAP_FAILED) return 3;
  free(hide(malloc(10)));
  free(misused(mapping + number(count, arguments, 1, 0)));
  return survived();
}
