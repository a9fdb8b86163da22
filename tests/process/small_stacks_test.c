// Threads with the smallest stack that is allowed go through all entry points and their slow paths.
#include "support.h"

enum { kBlocks = 600, kThreads = 16 };

// Out of the stack, one row for each thread.
static void* blocks[kThreads][kBlocks];

static void* body(void* argument) {
  void** const mine = blocks[(uintptr_t)argument % kThreads];
  for (size_t i = 0; i < kBlocks; i++) {
    const size_t size = i * i + 1;
    switch (i % 5) {
      case 0:
        mine[i] = malloc(size);
        break;
      case 1:
        mine[i] = calloc(size, 3);
        break;
      case 2:
        mine[i] = memalign(512, size);
        break;
      case 3:
        mine[i] = valloc(size);
        break;
      default:
        mine[i] = realloc(malloc(i), size + 1);
        break;
    }
    if (mine[i] == NULL) fail("no memory");
    *(unsigned char*)mine[i] = 1;
  }
  // Another thread's blocks are freed here as well: its row is passed on by the barrier of join.
  for (size_t i = 0; i < kBlocks; i++) {
    mine[i] = realloc(mine[i], i % 2 == 0 ? 10 : 70000);
    if (mine[i] == NULL) fail("no memory for realloc");
  }
  for (size_t i = 0; i < kBlocks; i += 2) free(mine[i]);
  malloc_trim(0);
  return NULL;
}

static void* free_rest(void* argument) {
  void** const mine = blocks[(uintptr_t)argument % kThreads];
  for (size_t i = 1; i < kBlocks; i += 2) free(mine[i]);
  return NULL;
}

static void run(const pthread_attr_t* attributes, void* (*function)(void*)) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) {
    const int error = pthread_create(&threads[i], attributes, function, (void*)i);
    if (error != 0) fail("pthread_create with the smallest stack: error %d", error);
  }
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
}

int main(void) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
  for (int round = 0; round < 4; round++) {
    run(&attributes, body);
    run(&attributes, free_rest);
  }
  return 0;
}
