// realloc gets an address that is no block: of the stack, static, low, not canonical, or of another mapping.
// EXPECT: realloc(): invalid pointer
// RUN: stack
// RUN: static
// RUN: low
// RUN: wild
// RUN: mapping
#include "misuse.h"

static _Alignas(16) char data[64];

static void* address_of(const char* which, void* local) {
  if (strcmp(which, "stack") == 0) return local;
  if (strcmp(which, "static") == 0) return data + 16;
  if (strcmp(which, "low") == 0) return (void*)(uintptr_t)0x1000;
  if (strcmp(which, "wild") == 0) return (void*)(uintptr_t)0x0123456789abcdf0u;
  return mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int count, char** arguments) {
  _Alignas(16) char local[64] = {0};
  free(hide(malloc(10)));
  void* const address = address_of(count > 1 ? arguments[1] : "stack", local);
  if (realloc(misused(address), 100) != NULL) return 4;
  return survived();
}
