// A thread's work in a process test: blocks that are checked and then resized, or freed and allocated anew, at random.
#ifndef ARENITE_TESTS_PROCESS_WORK_H
#define ARENITE_TESTS_PROCESS_WORK_H

#include "support.h"

enum { kBlocks = 300 };

typedef struct {
  unsigned char* blocks[kBlocks];
  size_t sizes[kBlocks];
  uint64_t random;
  int never_resizes;  // how long a block of a damaged arena is, nobody knows
  // What a signal handler has to know: whether it has interrupted a call, and which block may be anything.
  volatile int in_call;
  volatile size_t changing;
} Work;

static size_t random_size(uint64_t value) { return 1 + (value >> 8) % ((value >> 40) % 32 == 0 ? 300000 : 2000); }

static void check_block(const Work* work, size_t slot) {
  if (work->blocks[slot] != NULL && !holds(work->blocks[slot], work->sizes[slot], (unsigned)slot)) {
    fail("wrong bytes in a block of %zu", work->sizes[slot]);
  }
}

static void change_block(Work* work, size_t slot, size_t size, int by_realloc) {
  work->changing = slot;
  work->in_call = 1;
  if (by_realloc) {
    work->blocks[slot] = (unsigned char*)realloc(work->blocks[slot], size);
  } else {
    free(work->blocks[slot]);
    work->blocks[slot] = (unsigned char*)malloc(size);
  }
  work->in_call = 0;
  REQUIRE(work->blocks[slot] != NULL);
  work->sizes[slot] = size;
  fill(work->blocks[slot], size, (unsigned)slot);
}

static void step(Work* work) {
  const uint64_t value = next_random(&work->random);
  const size_t slot = value % kBlocks;
  check_block(work, slot);
  change_block(work, slot, random_size(value), !work->never_resizes && (value >> 50) % 4 == 0);
}

__attribute__((unused)) static void end_work(Work* work) {
  for (size_t slot = 0; slot < kBlocks; slot++) {
    check_block(work, slot);
    free(work->blocks[slot]);
  }
}

#endif
