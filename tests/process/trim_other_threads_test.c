// malloc_trim gives back what other threads have cached, also those that sleep and will never call again.
#include <malloc.h>
#include <pthread.h>

#include "support.h"

enum { kThreads = 8, kEach = 30, kMostLeftKib = 3000 };

static const size_t kSizes[] = {500, 1000, 3000, 4000, 8000, 16000, 30000};
static pthread_barrier_t barrier;
static int sleep_ends[2];

static void* worker(void* unused) {
  (void)unused;
  for (size_t size = 0; size < sizeof kSizes / sizeof *kSizes; size++) {
    unsigned char* blocks[kEach];
    for (int i = 0; i < kEach; i++) {
      blocks[i] = (unsigned char*)malloc(kSizes[size]);
      REQUIRE(blocks[i] != NULL);
      memset(blocks[i], 1, kSizes[size]);
    }
    for (int i = 0; i < kEach; i++) free(blocks[i]);
  }
  pthread_barrier_wait(&barrier);
  char byte;
  while (read(sleep_ends[0], &byte, 1) < 0) {
  }
  return NULL;
}

int main(void) {
  if (access("/proc/self/syscall", R_OK) != 0) return 0;  // the kernel does not tell who sleeps
  pthread_t threads[kThreads];
  REQUIRE(pipe(sleep_ends) == 0);
  pthread_barrier_init(&barrier, NULL, kThreads + 1);
  const long start = resident_kib();
  for (int i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, worker, NULL) == 0);
  pthread_barrier_wait(&barrier);
  long left = 0;
  for (int try = 0; try < 50; try++) {
    malloc_trim(0);
    left = resident_kib() - start;
    if (left <= kMostLeftKib) break;
    usleep(20000);  // a thread was not asleep yet
  }
  if (left > kMostLeftKib) fail("%ld KiB are left for %d sleeping threads", left, kThreads);
  close(sleep_ends[1]);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  return 0;
}
