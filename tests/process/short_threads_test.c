// Two thousand short threads, some at the same time, use the heap a little and end. The process must stay as it is.
#include "support.h"

enum { kWarmUp = 400, kThreads = 2000, kAtOnce = 8, kBlocks = 200 };

static void* body(void* argument) {
  void* blocks[kBlocks];
  uint64_t random = (uint64_t)(uintptr_t)argument;
  for (int i = 0; i < kBlocks; i++) {
    const size_t size = next_random(&random) % (i % 20 == 0 ? 60000 : 1500) + 1;
    blocks[i] = malloc(size);
    if (blocks[i] == NULL) fail("no memory for %zu bytes", size);
    memset(blocks[i], i, size);
  }
  for (int i = 0; i < kBlocks; i++) free(blocks[i]);
  return NULL;
}

static void run_threads(int count) {
  for (int i = 0; i < count; i += kAtOnce) {
    pthread_t threads[kAtOnce];
    for (int k = 0; k < kAtOnce; k++) start_thread(&threads[k], body, (void*)(uintptr_t)(i + k + 1));
    for (int k = 0; k < kAtOnce; k++) join_thread(threads[k]);
  }
}

int main(void) {
  run_threads(kWarmUp);
  const long resident = resident_kib();
  const long mappings = mapping_count();
  run_threads(kThreads);
  const long grown = resident_kib() - resident;
  const long more_mappings = mapping_count() - mappings;
  if (grown > 12 * 1024) fail("%d short threads made the process grow by %ld KiB", kThreads, grown);
  if (more_mappings > 200) fail("%d short threads left %ld mappings more", kThreads, more_mappings);
  return 0;
}
