// RLIMIT_DATA leaves 64 MiB. Most of that can be used, in blocks of any size, by one thread and by several; what does
// not fit is refused with ENOMEM, and once memory has been freed everything works again.
#include "support.h"

enum { kAllowanceMib = 64, kLeastMib = 48, kLeastMibOfThreads = 48, kRounds = 3, kThreads = 4 };

// Of all threads together.
static size_t used_bytes;

// Links the blocks through their first word.
static void** use_up(size_t size) {
  void** first = NULL;
  for (;;) {
    errno = 0;
    void** const block = (void**)malloc(size);
    if (block == NULL) break;
    memset(block, 1, size);
    *block = (void*)first;
    first = block;
    if (__atomic_add_fetch(&used_bytes, size, __ATOMIC_RELAXED) > kAllowanceMib * MIB) {
      fail("blocks of %zu bytes: more could be used than the limit allows", size);
    }
  }
  REQUIRE(errno == ENOMEM);
  return first;
}

static void release(void** first, size_t size) {
  while (first != NULL) {
    void** const next = (void**)*first;
    if (size > sizeof *first) REQUIRE(((char*)first)[size - 1] == 1);
    free((void*)first);
    first = next;
  }
}

static void expect_failures(size_t size) {
  char* const kept = (char*)malloc(100);
  if (kept != NULL) fill(kept, 100, 3);
  expect_no_memory(size, kept, 100, 3);
  free(kept);
}

static void check_used(size_t size, size_t least_mib, const char* what) {
  if (used_bytes < least_mib * MIB) {
    fail("blocks of %zu bytes, %s: only %zu KiB could be used", size, what, used_bytes / KIB);
  }
  used_bytes = 0;
}

static const size_t sizes[] = {100, 1000, 9000, 100000, 1500000, 6000000};
enum { kSizes = sizeof sizes / sizeof *sizes };

static pthread_barrier_t barrier;

// All threads use up one size together; the main thread looks at the sum in between.
static void* body(void* argument) {
  pthread_barrier_wait(&barrier);
  for (size_t i = 0; i < kSizes; i++) {
    void** const first = use_up(sizes[i]);
    pthread_barrier_wait(&barrier);
    release(first, sizes[i]);
    pthread_barrier_wait(&barrier);
  }
  return argument;
}

int main(void) {
  // Their stacks are to be outside of the allowance.
  pthread_t threads[kThreads];
  REQUIRE(pthread_barrier_init(&barrier, NULL, kThreads + 1) == 0);
  for (int i = 0; i < kThreads; i++) start_thread(&threads[i], body, NULL);
  const rlim_t now = (rlim_t)status_kib("VmData") * KIB;
  const struct rlimit limit = {now + kAllowanceMib * MIB, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);

  for (int round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < kSizes; i++) {
      void** const first = use_up(sizes[i]);
      expect_failures(32 * MIB);
      release(first, sizes[i]);
      check_used(sizes[i], kLeastMib, "one thread");
    }
  }
  pthread_barrier_wait(&barrier);
  for (size_t i = 0; i < kSizes; i++) {
    pthread_barrier_wait(&barrier);
    check_used(sizes[i], kLeastMibOfThreads, "several threads");
    pthread_barrier_wait(&barrier);
  }
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  return 0;
}
