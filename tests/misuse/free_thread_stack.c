// A thread frees the address of one of its local variables.
// EXPECT: free(): invalid pointer
// RUN: 16
#include "misuse.h"

static void* free_local(void* argument) {
  _Alignas(16) char local[64] = {0};
  free(hide(malloc(10)));
  free(misused(local + 16));
  return argument;
}

int main(void) {
  in_thread(free_local, NULL);
  return survived();
}
