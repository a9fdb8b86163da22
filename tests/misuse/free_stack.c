// The address of a local variable is freed.
// EXPECT: free(): invalid pointer
// RUN: 0
// RUN: 8
#include "misuse.h"

int main(int count, char** arguments) {
  _Alignas(16) char local[64] = {0};
  free(hide(malloc(10)));
  free(misused(local + number(count, arguments, 1, 0)));
  return survived() + local[0];
}
