// One thread overwrites what stands around its blocks, up to the books of its arena, while others allocate, check and
// free. Where damage ends the process, each run ends by SIGABRT with a report within a second; where it does not, all
// threads finish with right results, and the damaged arena is passed over by whatever else walks the arenas. Where all
// threads share one arena, damage that reaches blocks is done alone: they might be another thread's.
//
// argument: how often each kind of damage is done in each of the two ways; 2 by default
#include "damage.h"

#include "support.h"
#include "work.h"

enum { kThreads = 3, kSteps = 2000 };

static void* work_a_while(void* argument) {
  static __thread Work work = {.never_resizes = 1};
  work.random = (uintptr_t)argument;
  for (int i = 0; i < kSteps; i++) step_between_damage(&work);
  return NULL;
}

static const Kind* kind_now;

static int others_work(void) { return kind_now->is_found || !has_one_arena(); }

static void* do_damage(void* argument) {
  static char* blocks[2000];
  for (int i = 0; i < 2000; i++) REQUIRE((blocks[i] = (char*)malloc(64 + (size_t)i % 5 * 16)) != NULL);
  for (int i = 0; i < 2000; i += 2) free(blocks[i]);
  damage_between_calls(kind_now, blocks[1]);
  for (int i = 0; i < 3000; i++) {
    char* const block = (char*)hide(malloc(64 + (size_t)i % 5 * 16));
    REQUIRE(block != NULL);
    block[0] = 1;
    if (i % 3 == 0) free(block);
  }
  for (int i = 1; i < 2000; i += 2) free(blocks[i]);
  return argument;
}

static void live_with_damage(void) {
  set_up_calls();
  pthread_t threads[kThreads];
  pthread_t damager;
  const int workers = others_work() ? kThreads : 0;
  for (int i = 0; i < workers; i++) start_thread(&threads[i], work_a_while, (void*)(uintptr_t)(i + 1));
  start_thread(&damager, do_damage, NULL);
  join_thread(damager);
  for (int i = 0; i < workers; i++) join_thread(threads[i]);
  malloc_trim(0);
  mallinfo2();
  const pid_t child = fork();
  if (child == 0) {
    free(hide(malloc(100)));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

static void run(const Kind* kind, int action, int number) {
  const int file = memfd_create("stderr", 0);
  REQUIRE(file >= 0);
  const double start = seconds_now();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(60);
    dup2(file, 2);
    mallopt(M_CHECK_ACTION, action);
    kind_now = kind;
    live_with_damage();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  char text[4096];
  const ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = 0;
  close(file);
  const int aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  const int reported = strstr(text, "arenite: 0x") != NULL;
  const int good = (action & 2) == 0 ? status == 0 && (reported || !kind->is_found)
                                     : (aborted && reported) || (!kind->is_found && status == 0);
  if (!good) fail("%s, action %d, run %d: status 0x%x: %s", kind->name, action, number, status, text);
  if (aborted && seconds_now() - start > 20) fail("%s: the report came late", kind->name);
}

int main(int count, char** arguments) {
  const int runs = count > 1 ? atoi(arguments[1]) : 2;
  for (int number = 0; number < runs; number++) {
    for (size_t kind = 0; kind < kKinds; kind++) {
      run(&kinds[kind], 3, number);
      run(&kinds[kind], 1, number);
    }
  }
  return 0;
}
