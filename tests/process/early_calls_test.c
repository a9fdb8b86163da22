// The heap is used before any constructor has run (.preinit_array), by a constructor of the highest priority and by
// main. Blocks of each phase are checked and freed in the next.
#include "support.h"

enum { kBlocks = 80 };

static unsigned char* blocks[kBlocks];
static const char* phase = "start";
static int phases_seen;

static size_t size_of(size_t index) { return 1 + index * index * 31; }

static void allocate_all(const char* name, unsigned tag) {
  phase = name;
  phases_seen++;
  for (size_t i = 0; i < kBlocks; i++) {
    const size_t size = size_of(i);
    void* block = NULL;
    if (i % 5 == 0) {
      if (posix_memalign(&block, 256, size) != 0) fail("%s: posix_memalign failed", phase);
      if ((uintptr_t)block % 256 != 0) fail("%s: posix_memalign: not aligned", phase);
    } else if (i % 5 == 1) {
      block = calloc(size, 1);
      for (size_t k = 0; block != NULL && k < size; k++) {
        if (((unsigned char*)block)[k] != 0) fail("%s: calloc: not zero", phase);
      }
    } else if (i % 5 == 2) {
      block = realloc(NULL, size);
    } else {
      block = malloc(size);
    }
    if (block == NULL) fail("%s: no memory for %zu bytes", phase, size);
    if (malloc_usable_size(block) < size) fail("%s: usable size below the request", phase);
    fill(block, size, tag + (unsigned)i);
    blocks[i] = (unsigned char*)block;
  }
}

static void free_all(const char* name, unsigned tag) {
  phase = name;
  for (size_t i = 0; i < kBlocks; i++) {
    const size_t size = size_of(i);
    if (!holds(blocks[i], size, tag + (unsigned)i)) fail("%s: a block of %zu bytes lost its contents", phase, size);
    if (i % 4 == 3) {
      blocks[i] = (unsigned char*)realloc(blocks[i], size + 3000);
      if (blocks[i] == NULL) fail("%s: realloc failed", phase);
      if (!holds(blocks[i], size, tag + (unsigned)i)) fail("%s: realloc lost contents", phase);
    }
    free(blocks[i]);
  }
}

static void before_constructors(void) { allocate_all("preinit_array", 1); }

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = before_constructors;

__attribute__((constructor(101))) static void first_constructor(void) {
  free_all("constructor", 1);
  allocate_all("constructor", 2);
}

int main(void) {
  free_all("main", 2);
  allocate_all("main", 3);
  free_all("main", 3);
  REQUIRE(phases_seen == 3);
  return 0;
}
