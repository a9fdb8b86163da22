// Sixteen threads use every allocating function until address space has run out for all of them, free everything, and
// get about as much again: round after round. Whatever is not null is aligned, writable, and of calloc zero. argument:
// for how many seconds; 2 by default
#include "support.h"

enum { kThreads = 16, kMostBlocks = 20000, kMostKinds = 9, kFailures = 60 };

typedef struct {
  void* block;
  size_t size;
} Kept;

static Kept kept[kThreads][kMostBlocks];
static size_t counts[kThreads];
static size_t bytes_got[kThreads];
static int round_number;
static pthread_barrier_t barrier;
static int stop;

static size_t page;

static int is_aligned_to(const void* block, size_t alignment) { return ((uintptr_t)block & (alignment - 1)) == 0; }

// A block by the function of that number; null and ENOMEM if there is no memory.
static void* allocate(unsigned kind, size_t* size) {
  void* block = NULL;
  size_t alignment = 16;
  errno = 0;
  switch (kind) {
    case 0:
      block = malloc(*size);
      break;
    case 1:
      block = calloc(*size, 1);
      for (size_t i = 0; block != NULL && i < *size; i += i < 4096 ? 1 : 509) REQUIRE(((char*)block)[i] == 0);
      break;
    case 2:
      block = realloc(NULL, *size);
      break;
    case 3:
      block = reallocarray(NULL, *size / 8 + 1, 8);
      break;
    case 4:
      alignment = (size_t)64 << *size % 8;
      block = memalign(alignment, *size);
      break;
    case 5:
      alignment = 256;
      *size = (*size + 255) / 256 * 256;
      block = aligned_alloc(alignment, *size);
      break;
    case 6:
      alignment = 4096;
      errno = posix_memalign(&block, alignment, *size);
      break;
    case 7:
      alignment = page;
      block = valloc(*size);
      break;
    default:
      alignment = page;
      block = pvalloc(*size);
      break;
  }
  if (block == NULL && errno != ENOMEM) fail("kind %u, %zu bytes: null with errno %d", kind, *size, errno);
  if (!is_aligned_to(block, alignment)) fail("kind %u, %zu bytes: not aligned to %zu", kind, *size, alignment);
  return block;
}

static size_t next_size(uint64_t value) {
  static const size_t most[] = {200, 2000, 30000, 200000, 3000000};
  return 1 + (value >> 20) % most[value % 5];
}

// The last byte too, and a word that tells whose block it is.
static void mark(size_t thread, void* block, size_t size) {
  const size_t index = counts[thread];
  kept[thread][index] = (Kept){block, size};
  ((char*)block)[size - 1] = 1;
  if (size >= sizeof(size_t)) *(size_t*)block = thread * kMostBlocks + index;
}

static void fill_up(size_t thread, uint64_t* random) {
  for (int failures = 0; failures < kFailures && counts[thread] < kMostBlocks;) {
    const uint64_t value = next_random(random);
    size_t size = next_size(value);
    void* const block = allocate((unsigned)(value >> 8) % kMostKinds, &size);
    if (block == NULL) {
      failures++;
      continue;
    }
    mark(thread, block, size);
    if (value % 7 == 0) {
      void* const grown = realloc(block, size * 2);
      if (grown == NULL) REQUIRE(errno == ENOMEM);
      if (grown != NULL) mark(thread, grown, size *= 2);
    }
    bytes_got[thread] += size;
    counts[thread]++;
  }
}

static void release(size_t thread) {
  for (size_t i = 0; i < counts[thread]; i++) {
    const Kept* const one = &kept[thread][i];
    if (one->size >= sizeof(size_t)) REQUIRE(*(size_t*)one->block == thread * kMostBlocks + i);
    free(one->block);
  }
  counts[thread] = 0;
}

static void* work(void* argument) {
  const size_t thread = (uintptr_t)argument;
  uint64_t random = thread;
  while (!stop) {
    fill_up(thread, &random);
    pthread_barrier_wait(&barrier);
    // Another thread's blocks in every second round.
    release(round_number % 2 == 0 ? thread : (thread + 1) % kThreads);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);  // main has decided
  }
  return NULL;
}

int main(int count, char** arguments) {
  const double end = end_of_run(count, arguments, 2);
  page = (size_t)sysconf(_SC_PAGESIZE);
  REQUIRE(pthread_barrier_init(&barrier, NULL, kThreads + 1) == 0);
  pthread_t threads[kThreads];
  const struct rlimit limit = {(rlim_t)status_kib("VmSize") * KIB + 250 * MIB, RLIM_INFINITY};
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 256 * KIB) == 0);
  for (uintptr_t i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], &attributes, work, (void*)i) == 0);
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  size_t most = 0;
  for (; !stop; round_number++) {
    pthread_barrier_wait(&barrier);
    size_t got = 0;
    for (int i = 0; i < kThreads; i++) {
      got += bytes_got[i];
      bytes_got[i] = 0;
    }
    if (got > most) most = got;
    if (got < most / 2) fail("round %d: %zu MiB after %zu MiB before", round_number, got / MIB, most / MIB);
    pthread_barrier_wait(&barrier);
    stop = seconds_now() >= end && round_number >= 2;
    pthread_barrier_wait(&barrier);
  }
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  return 0;
}
