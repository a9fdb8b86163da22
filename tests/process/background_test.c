// With purge_interval, memory goes back while the program does nothing: free memory below any bound, and what sleeping
// threads have cached. Also in a forked child, where the thread is another one.
#include "support.h"

enum { kBlocks = 2000, kSize = 1000, kMostLeftKib = 900, kWorkers = 6, kMostLeftByWorkersKib = 2200 };

static const size_t kCachedSizes[] = {500, 1000, 4000, 8000, 16000, 30000};

static int sleep_ends[2];
static pthread_barrier_t barrier;

static void use_memory(void) {
  static unsigned char* blocks[kBlocks];
  for (int i = 0; i < kBlocks; i++) {
    blocks[i] = (unsigned char*)malloc(kSize);
    REQUIRE(blocks[i] != NULL);
    memset(blocks[i], 1, kSize);
  }
  for (int i = 0; i < kBlocks; i++) free(blocks[i]);
}

static void* worker(void* unused) {
  (void)unused;
  for (size_t size = 0; size < sizeof kCachedSizes / sizeof *kCachedSizes; size++) {
    unsigned char* blocks[30];
    for (int i = 0; i < 30; i++) {
      blocks[i] = (unsigned char*)malloc(kCachedSizes[size]);
      REQUIRE(blocks[i] != NULL);
      memset(blocks[i], 1, kCachedSizes[size]);
    }
    for (int i = 0; i < 30; i++) free(blocks[i]);
  }
  pthread_barrier_wait(&barrier);
  char byte;
  while (read(sleep_ends[0], &byte, 1) < 0) {
  }
  return NULL;
}

static long thread_count(void) { return status_kib("Threads"); }

static void wait_until_given_back(long start, long most_kib, const char* what) {
  long left = 0;
  for (int i = 0; i < 500; i++) {
    sleep_milliseconds(20);
    left = resident_kib() - start;
    if (left <= most_kib) return;
  }
  fail("%s: %ld KiB are left", what, left);
}

static int run(void) {
  const long start = resident_kib();
  use_memory();
  wait_until_given_back(start, kMostLeftKib, "one thread");
  pthread_t threads[kWorkers];
  REQUIRE(pipe(sleep_ends) == 0);
  pthread_barrier_init(&barrier, NULL, kWorkers + 1);
  for (int i = 0; i < kWorkers; i++) start_thread(&threads[i], worker, NULL);
  pthread_barrier_wait(&barrier);
  if (access("/proc/self/syscall", R_OK) == 0) {
    wait_until_given_back(start, kMostLeftByWorkersKib, "sleeping threads");
  }
  close(sleep_ends[1]);
  for (int i = 0; i < kWorkers; i++) join_thread(threads[i]);
  return 0;
}

int main(void) {
  run_with_options("purge_interval=30");
  REQUIRE(thread_count() == 2);
  run();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    free(malloc(100000));
    REQUIRE(thread_count() == 2);
    _exit(run());
  }
  const int status = wait_for(child, 40);
  if (status != 0) fail("the child ended with %d", status);
  return 0;
}
