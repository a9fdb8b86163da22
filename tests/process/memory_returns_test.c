// 400 MiB in blocks of 1 KiB, allocated by one thread and freed by another, go back to the system with malloc_trim;
// the same holds when the order of the frees is random, and when the allocating thread has ended before.
#include "support.h"

enum { kBlocks = 400 * 1024, kSize = 1024, kResidentLimitMib = 64 };

static char** blocks;

static void* allocate(void* argument) {
  for (size_t i = 0; i < kBlocks; i++) {
    blocks[i] = (char*)malloc(kSize);
    REQUIRE(blocks[i] != NULL);
    memset(blocks[i], 1, kSize);
  }
  return argument;
}

static void* release(void* argument) {
  for (size_t i = 0; i < kBlocks; i++) free(blocks[i]);
  return argument;
}

static void shuffle(void) {
  uint64_t random = 8;
  for (size_t i = kBlocks - 1; i > 0; i--) {
    const size_t other = next_random(&random) % (i + 1);
    char* const block = blocks[i];
    blocks[i] = blocks[other];
    blocks[other] = block;
  }
}

static void run(void* (*function)(void*), int in_thread) {
  if (!in_thread) {
    function(NULL);
    return;
  }
  pthread_t thread;
  start_thread(&thread, function, NULL);
  join_thread(thread);
}

static void check(const char* what, long before) {
  malloc_trim(0);
  const long grown = resident_kib() - before;
  if (grown > kResidentLimitMib * 1024) fail("%s: %ld KiB stay resident", what, grown);
}

int main(void) {
  blocks = (char**)mmap(NULL, kBlocks * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE((void*)blocks != MAP_FAILED);
  memset(blocks, 1, kBlocks * sizeof *blocks);
  const long before = resident_kib();
  run(allocate, 0);
  REQUIRE(resident_kib() - before > 390 * 1024);
  run(release, 1);
  check("freed by another thread", before);
  run(allocate, 1);
  run(release, 0);
  check("freed after its thread has ended", before);
  run(allocate, 1);
  shuffle();
  run(release, 1);
  check("freed in random order", before);
  return 0;
}
