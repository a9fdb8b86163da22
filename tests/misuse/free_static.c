// The address of a static variable is freed.
// EXPECT: free(): invalid pointer
// RUN: data 0
// RUN: bss 0
// RUN: data 8
// RUN: constant 0
#include "misuse.h"

static _Alignas(16) char data[64] = {1};
static _Alignas(16) char bss[64];
static const _Alignas(16) char constant[64] = {2};

int main(int count, char** arguments) {
  const char* const which = count > 1 ? arguments[1] : "data";
  const size_t offset = number(count, arguments, 2, 0);
  const void* address = data + offset;
  if (strcmp(which, "bss") == 0) address = bss + offset;
  if (strcmp(which, "constant") == 0) address = constant + offset;
  free(hide(malloc(10)));
  free(misused((void*)(uintptr_t)address));
  return survived();
}
