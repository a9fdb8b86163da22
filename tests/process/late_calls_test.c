// The heap is used by everything that runs at exit: atexit and on_exit handlers, registered early and late, and
// destructors of the program. Blocks of each phase are checked and freed in the next; a thread still runs meanwhile.
#include "support.h"

enum { kBlocks = 64 };

static unsigned char* blocks[kBlocks];
static unsigned live_tag;
static int phases_seen;

static size_t size_of(size_t index) { return 1 + index * index * 41; }

static void allocate_all(unsigned tag) {
  for (size_t i = 0; i < kBlocks; i++) {
    blocks[i] = (unsigned char*)(i % 2 == 0 ? malloc(size_of(i)) : calloc(1, size_of(i)));
    if (blocks[i] == NULL) fail("no memory in phase %u", tag);
    fill(blocks[i], size_of(i), tag);
  }
  live_tag = tag;
}

// Frees what the phase before left, uses some more, and leaves blocks of its own.
static void run_phase(unsigned tag) {
  phases_seen++;
  for (size_t i = 0; i < kBlocks; i++) {
    if (!holds(blocks[i], size_of(i), live_tag)) fail("phase %u: contents lost", tag);
    free(blocks[i]);
  }
  void* const large = malloc(3 * MIB);
  if (large == NULL) fail("phase %u: no large mapping", tag);
  memset(large, 1, 3 * MIB);
  free(large);
  malloc_trim(0);
  allocate_all(tag);
}

static void at_exit_early(void) { run_phase(13); }
static void at_exit_late(void) { run_phase(11); }

static void on_exit_late(int status, void* argument) {
  (void)argument;
  if (status != 0) _exit(status);
  run_phase(10);
}

// Registered before the C library registers the destructors of the libraries: runs after them.
static void after_libraries(int status, void* argument) {
  (void)argument;
  if (status != 0) _exit(status);
  run_phase(14);
  if (phases_seen != 5) fail("%d of 5 phases ran", phases_seen);
}

static void before_constructors(void) { on_exit(after_libraries, NULL); }

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = before_constructors;

__attribute__((constructor(101))) static void first_constructor(void) { atexit(at_exit_early); }
__attribute__((destructor(101))) static void last_destructor(void) { run_phase(12); }

static void* churn(void* argument) {
  uint64_t random = 5;
  for (;;) {
    void* const block = malloc(next_random(&random) % 5000);
    free(block);
  }
  return argument;
}

int main(void) {
  pthread_t thread;
  start_thread(&thread, churn, NULL);
  allocate_all(9);
  atexit(at_exit_late);
  on_exit(on_exit_late, NULL);
  return 0;
}
