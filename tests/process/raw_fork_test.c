// Children that are made without any fork handler, by the system call alone or by _Fork, while other threads are in the
// middle of their calls: each can use the heap, and fork again.
// argument: for how many seconds; by default so many times as kForks says
#include "support.h"
#include "work.h"

enum { kThreads = 4, kForks = 400 };

// As libc has it since 2.34.
__attribute__((weak)) pid_t _Fork(void);

static int stop;

static void use_heap(uint64_t random, int steps) {
  Work work = {.random = random};
  for (int i = 0; i < steps; i++) step(&work);
  end_work(&work);
}

static void* churn(void* argument) {
  for (uint64_t round = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); round++) {
    use_heap((uintptr_t)argument + round * kThreads, 1000);
  }
  return NULL;
}

static pid_t fork_without_handlers(int by_libc) { return by_libc && _Fork != NULL ? _Fork() : raw_fork(); }

static void be_child(int number) {
  alarm(20);
  use_heap((uint64_t)number, 3000);
  if (number % 10 != 0) return;
  malloc_trim(0);
  const pid_t grandchild = number % 20 == 0 ? fork() : raw_fork();
  REQUIRE(grandchild >= 0);
  if (grandchild == 0) {
    use_heap((uint64_t)number, 1000);
    _exit(0);
  }
  REQUIRE(wait_for(grandchild, 15) == 0);
}

int main(int count, char** arguments) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) start_thread(&threads[i], churn, (void*)i);
  use_heap(1, 1000);
  const double end = seconds_now() + run_time(count, arguments, 2);
  for (int i = 0; (count > 1 || i < kForks) && seconds_now() < end; i++) {
    const pid_t child = fork_without_handlers(i % 2);
    REQUIRE(child >= 0);
    if (child == 0) {
      be_child(i);
      _exit(0);
    }
    const int status = wait_for(child, 20);
    if (status != 0) fail("child %d ended with status 0x%x", i, (unsigned)status);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  return 0;
}
