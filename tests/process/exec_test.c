// exec from a process with a large heap and busy threads: by main, by another thread, after fork, after vfork and
// through posix_spawn. Each stage is this program again.
#include "support.h"

extern char** environ;

static char program[] = "/proc/self/exe";

static void* churn(void* argument) {
  uint64_t random = (uint64_t)(uintptr_t)argument;
  for (;;) {
    void* const block = malloc(1 + next_random(&random) % 100000);
    REQUIRE(block != NULL);
    *(volatile char*)block = 1;
    free(block);
  }
  return NULL;
}

static void* exec_last_stage(void* argument) {
  static char last[] = "last";
  char* arguments[] = {program, last, NULL};
  execv(program, arguments);
  fail("exec in a thread: errno %d", errno);
  return argument;
}

static void grow_heap(void) {
  for (size_t i = 0; i < 20000; i++) {
    void* const block = malloc(i % 3000);
    REQUIRE(block != NULL);
    if (i % 3 == 0) free(block);
  }
}

static char child[] = "child";
static char thread_stage[] = "thread";
static char* child_arguments[] = {program, child, NULL};

__attribute__((noinline)) static pid_t vfork_and_exec(void) {
  const pid_t process = vfork();
  if (process == 0) {
    execv(program, child_arguments);
    _exit(3);
  }
  return process;
}

int main(int argc, char** argv) {
  const char* const stage = argc > 1 ? argv[1] : "first";
  pthread_t threads[2];
  pthread_t executing;
  grow_heap();
  if (strcmp(stage, "child") == 0 || strcmp(stage, "last") == 0) return 0;
  for (uintptr_t i = 0; i < 2; i++) start_thread(&threads[i], churn, (void*)i);
  if (strcmp(stage, "thread") == 0) {
    start_thread(&executing, exec_last_stage, NULL);
    for (;;) pause();
  }
  for (int i = 0; i < 10; i++) {
    pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
      grow_heap();
      execv(program, child_arguments);
      _exit(3);
    }
    REQUIRE(wait_for(process, 20) == 0);
    process = vfork_and_exec();
    REQUIRE(process > 0 && wait_for(process, 20) == 0);
    REQUIRE(posix_spawn(&process, program, NULL, NULL, child_arguments, environ) == 0);
    REQUIRE(wait_for(process, 20) == 0);
  }
  char* next[] = {program, thread_stage, NULL};
  execv(program, next);
  fail("exec: errno %d", errno);
}
