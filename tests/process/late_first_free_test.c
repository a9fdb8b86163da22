// Thousands of threads use the heap for the first time when they end: a destructor of theirs frees a block that another
// thread gave them. Nothing may be kept for a thread that is gone.
#include "support.h"

enum { kWarmUp = 500, kThreads = 4000 };

static pthread_key_t key;

static void* body(void* argument) {
  REQUIRE(pthread_setspecific(key, argument) == 0);
  return NULL;
}

static void run(int threads) {
  for (int i = 0; i < threads; i++) {
    pthread_t thread;
    start_thread(&thread, body, malloc((size_t)(i % 3000 + 1)));
    join_thread(thread);
  }
}

int main(void) {
  free(hide(malloc(100)));  // first, so that the library's own key comes before this one in each round of destructors
  REQUIRE(pthread_key_create(&key, free) == 0);
  run(kWarmUp);
  const long resident = resident_kib();
  run(kThreads);
  const long grown = resident_kib() - resident;
  if (grown > 2048) fail("%d threads that freed one block at their end left %ld KiB", kThreads, grown);
  return 0;
}
