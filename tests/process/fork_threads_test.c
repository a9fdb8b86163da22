// Threads churn while main forks again and again. The child allocates, checks and frees the blocks that all threads of
// the parent held in a table, starts threads and forks once more. Nothing hangs, nothing is lost.
// argument: for how many seconds; by default so many times as kForks says
#include "support.h"

enum { kThreads = 8, kBlocks = 250, kForks = 60 };

static const size_t sizes[] = {16, 90, 700, 4000, 50000, 400000};

// Written once by its thread before the forks begin, so that the child can rely on every entry.
static unsigned char* table[kThreads][kBlocks];
static pthread_barrier_t barrier;
static int stop;
// Where threads leave blocks for whoever comes next.
static void* handed_over[64];

static size_t size_of(size_t index) { return index % 50 == 49 ? sizes[4 + index / 50 % 2] : sizes[index % 4]; }

static void* churn(void* argument) {
  const uintptr_t index = (uintptr_t)argument;
  for (size_t i = 0; i < kBlocks; i++) {
    table[index][i] = (unsigned char*)malloc(size_of(i));
    REQUIRE(table[index][i] != NULL);
    fill(table[index][i], 16, (unsigned)(index * kBlocks + i));
  }
  pthread_barrier_wait(&barrier);
  uint64_t random = index;
  void* blocks[64] = {NULL};
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    const uint64_t value = next_random(&random);
    void** const block = &blocks[value % 64];
    free(*block);
    *block = malloc((value >> 8) % ((value >> 40) % 64 == 0 ? 300000 : 3000));
    REQUIRE(*block != NULL);
    if (value % 3 == 0) *block = __atomic_exchange_n(&handed_over[(value >> 50) % 64], *block, __ATOMIC_ACQ_REL);
  }
  for (int i = 0; i < 64; i++) free(blocks[i]);
  return NULL;
}

static void* child_thread(void* argument) {
  for (size_t i = 0; i < 2000; i++) free(malloc(i * 13));
  return argument;
}

static void child_body(int again) {
  alarm(20);
  for (size_t t = 0; t < kThreads; t++) {
    for (size_t i = 0; i < kBlocks; i++) {
      REQUIRE(holds(table[t][i], 16, (unsigned)(t * kBlocks + i)));
      if (i % 7 == 0) {
        table[t][i] = (unsigned char*)realloc(table[t][i], size_of(i) * 2);
        REQUIRE(table[t][i] != NULL && holds(table[t][i], 16, (unsigned)(t * kBlocks + i)));
      }
      free(table[t][i]);
      table[t][i] = (unsigned char*)malloc(size_of(i));
      REQUIRE(table[t][i] != NULL);
      fill(table[t][i], 16, (unsigned)(t * kBlocks + i));
    }
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) start_thread(&threads[i], child_thread, NULL);
  for (int i = 0; i < 3; i++) join_thread(threads[i]);
  for (int i = 0; i < 64; i++) free(handed_over[i]);
  malloc_trim(0);
  if (!again) return;
  memset(handed_over, 0, sizeof handed_over);
  pid_t spawned;
  char* const arguments[] = {(char*)"true", NULL};
  if (posix_spawn(&spawned, "/bin/true", NULL, NULL, arguments, environ) == 0) REQUIRE(wait_for(spawned, 15) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    child_body(0);
    _exit(0);
  }
  REQUIRE(wait_for(child, 15) == 0);
}

int main(int count, char** arguments) {
  REQUIRE(pthread_barrier_init(&barrier, NULL, kThreads + 1) == 0);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) start_thread(&threads[i], churn, (void*)i);
  pthread_barrier_wait(&barrier);
  const double end = end_of_run(count, arguments, 20);
  for (int i = 0; (count > 1 || i < kForks) && seconds_now() < end; i++) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      child_body(i % 10 == 0);
      _exit(0);
    }
    const int status = wait_for(child, 20);
    if (status != 0) fail("fork %d: the child ended with status 0x%x", i, (unsigned)status);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  for (size_t t = 0; t < kThreads; t++) {
    for (size_t i = 0; i < kBlocks; i++) {
      REQUIRE(holds(table[t][i], 16, (unsigned)(t * kBlocks + i)));
      free(table[t][i]);
    }
  }
  return 0;
}
