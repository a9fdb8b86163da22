// The first use of the heap in the whole process is the free of an address that is none.
// EXPECT: free(): invalid pointer
// RUN: 0x10
// RUN: 0x7000000000
#include "misuse.h"

static void before_constructors(int count, char** arguments) { free(misused((void*)number(count, arguments, 1, 16))); }

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(int, char**) = before_constructors;

int main(void) { return survived(); }
