// The first thing that a thread does with the heap is not malloc: free, realloc, malloc_usable_size, free(NULL),
// malloc_trim, a failing request. Threads that only free must give back what they free.
#include "support.h"

enum { kBlocks = 3000, kRounds = 60 };

static unsigned char* blocks[kBlocks];
static const size_t sizes[] = {1, 24, 200, 1000, 5000, 40000, 300000};
enum { kSizes = sizeof sizes / sizeof *sizes };

static size_t size_of(size_t index) { return index % 100 == 99 ? sizes[kSizes - 1] : sizes[index % (kSizes - 1)]; }

static void* free_everything(void* argument) {
  for (size_t i = 0; i < kBlocks; i++) {
    if (!holds(blocks[i], size_of(i) < 64 ? size_of(i) : 64, (unsigned)i)) fail("contents lost");
    free(blocks[i]);
  }
  return argument;
}

static void* first_free(void* argument) {
  free(argument);
  return NULL;
}

static void* first_free_null(void* argument) {
  free(NULL);
  free(argument);
  return NULL;
}

static void* first_realloc(void* argument) {
  unsigned char* const block = (unsigned char*)realloc(argument, 9000);
  REQUIRE(block != NULL && holds(block, 100, 4));
  free(block);
  return NULL;
}

static void* first_usable_size(void* argument) {
  REQUIRE(malloc_usable_size(argument) >= 100);
  free(argument);
  return NULL;
}

static void* first_trim(void* argument) {
  malloc_trim(0);
  free(argument);
  return NULL;
}

static void* first_failure(void* argument) {
  volatile size_t too_large = PTRDIFF_MAX;
  errno = 0;
  REQUIRE(malloc(too_large + 1) == NULL && errno == ENOMEM);
  free(argument);
  return NULL;
}

int main(void) {
  void* (*const firsts[])(void*) = {first_free,        first_free_null, first_realloc,
                                    first_usable_size, first_trim,      first_failure};
  for (size_t s = 0; s < kSizes; s++) {
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
      if (sizes[s] < 100) continue;
      void* const block = malloc(sizes[s]);
      REQUIRE(block != NULL);
      fill(block, 100, 4);
      pthread_t thread;
      start_thread(&thread, firsts[f], block);
      join_thread(thread);
    }
  }
  long after_some = 0;
  for (int round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < kBlocks; i++) {
      blocks[i] = (unsigned char*)malloc(size_of(i));
      REQUIRE(blocks[i] != NULL);
      memset(blocks[i], 1, size_of(i));
      fill(blocks[i], size_of(i) < 64 ? size_of(i) : 64, (unsigned)i);
    }
    pthread_t thread;
    start_thread(&thread, free_everything, NULL);
    join_thread(thread);
    if (round == 10) after_some = resident_kib();
  }
  const long grown = resident_kib() - after_some;
  if (grown > 24 * 1024) fail("threads that only free: the process grew by %ld KiB", grown);
  return 0;
}
