// An address that was never anybody's is freed: low, high, in the kernel's half, or not canonical.
// EXPECT: free(): invalid pointer
// RUN: 0x1
// RUN: 0x7
// RUN: 0x8
// RUN: 0x10
// RUN: 0x1000
// RUN: 0x10000
// RUN: 0x7fffffffe000
// RUN: 0x7fffffffffff
// RUN: 0x7ffffffffff0
// RUN: 0x800000000000
// RUN: 0x123456789abcdf0
// RUN: 0x8000000000000000
// RUN: 0xffff800000000000
// RUN: 0xfffffffffffffff0
// RUN: 0xffffffffffffffff
// RUN: 0x10000000000
// RUN: 0x4141414141414140
#include "misuse.h"

int main(int count, char** arguments) {
  free(hide(malloc(10)));
  free(misused((void*)number(count, arguments, 1, 16)));
  return survived();
}
