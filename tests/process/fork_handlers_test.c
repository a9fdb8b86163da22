// Fork handlers of the program use the heap: in prepare, parent and child, registered before the first allocation of
// the program and after. Other threads churn meanwhile, so that any lock held across handlers shows as a hang.
// argument: for how many seconds; by default so many times as kForks says
#include "support.h"

enum { kThreads = 3, kForks = 200 };

static int stop;
static int handlers_run;

static void use_heap(void) {
  __atomic_add_fetch(&handlers_run, 1, __ATOMIC_RELAXED);
  void* blocks[40];
  for (size_t i = 0; i < 40; i++) {
    blocks[i] = malloc(i * i * 25 + 1);
    REQUIRE(blocks[i] != NULL);
    *(char*)blocks[i] = 1;
  }
  for (size_t i = 0; i < 40; i++) free(blocks[i]);
}

static void before_constructors(void) { pthread_atfork(use_heap, use_heap, use_heap); }

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = before_constructors;

static void* churn(void* argument) {
  uint64_t random = (uint64_t)(uintptr_t)argument;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    void* blocks[100];
    for (int i = 0; i < 100; i++) blocks[i] = malloc(next_random(&random) % 6000);
    for (int i = 0; i < 100; i++) free(blocks[i]);
  }
  return NULL;
}

int main(int count, char** arguments) {
  use_heap();
  REQUIRE(pthread_atfork(use_heap, use_heap, use_heap) == 0);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) start_thread(&threads[i], churn, (void*)i);
  alarm(count > 1 ? 0 : 55);
  const double end = seconds_now() + run_time(count, arguments, 10);
  for (int i = 0; (count > 1 || i < kForks) && seconds_now() < end; i++) {
    handlers_run = 0;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    REQUIRE(handlers_run == 4);
    if (child == 0) {
      alarm(15);
      use_heap();
      _exit(0);
    }
    REQUIRE(wait_for(child, 15) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  return 0;
}
