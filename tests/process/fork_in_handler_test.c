// A signal handler forks, again and again, in the middle of whatever the process does: calls of malloc, free and
// realloc, operations on streams, other handlers' forks. A child that has interrupted none of that uses the heap in the
// handler and ends there; of the others every other ends at once, and the rest leave the handler and go on with the
// interrupted call. First with one thread, then with several.
//
// argument: for how many seconds; 2 by default
#include "support.h"
#include "work.h"

enum { kMostChildren = 8, kThreads = 4 };

static int children;
static volatile sig_atomic_t forks;
static __thread volatile sig_atomic_t left_in_child;  // steps that a child still does
static volatile int stop;

static void reap(int options) {
  for (int status; waitpid(-1, &status, options) > 0; __atomic_sub_fetch(&children, 1, __ATOMIC_RELAXED)) {
    if (status != 0) fail("a child ended with status 0x%x", (unsigned)status);
  }
}

static __thread Work* work_here;

static void use_heap_in_child(Work* work) {
  const size_t unknown = work->changing;
  for (size_t slot = 0; slot < kBlocks; slot++) {
    if (slot == unknown) continue;
    check_block(work, slot);
    if (slot % 3 == 0) change_block(work, slot, random_size(next_random(&work->random)), slot % 2 == 0);
  }
  for (size_t slot = 0; slot < kBlocks; slot++) {
    if (slot == unknown) continue;
    check_block(work, slot);
    free(work->blocks[slot]);
  }
}

// Each signal is asked for when the one before has been handled, so that the work goes on however long a fork takes.
static void ask_for_signal(void) {
  const struct itimerval once = {{0, 0}, {0, 700}};
  if (!stop) REQUIRE(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void fork_now(int signal_number) {
  const int saved = errno;
  reap(WNOHANG);
  const pid_t child = __atomic_load_n(&children, __ATOMIC_RELAXED) < kMostChildren ? fork() : -1;
  if (child == 0) {
    signal(signal_number, SIG_DFL);
    alarm(20);
    const int in_call = work_here != NULL && work_here->in_call;
    if (!in_call && work_here != NULL) use_heap_in_child(work_here);
    if (!in_call || forks % 2 == 0) _exit(0);
    left_in_child = 500;
  } else {
    if (child > 0) {
      __atomic_add_fetch(&children, 1, __ATOMIC_RELAXED);
      forks++;
    }
    ask_for_signal();
  }
  errno = saved;
}

static void step_and_end(Work* work) {
  step(work);
  if (left_in_child > 0 && --left_in_child == 0) _exit(0);
}

static void finish(Work* work) {
  work_here = NULL;
  end_work(work);
}

// Reads all lines, or some: where the file is read is shared with children. Writes others to a stream of their own.
static void use_streams(Work* work, FILE* file) {
  char* line = NULL;
  size_t room = 0;
  work->in_call = 1;
  rewind(file);
  while (getdelim(&line, &room, '\n', file) >= 0) {
  }
  free(line);
  FILE* const sink = fopen("/dev/null", "w");
  REQUIRE(sink != NULL);
  for (int i = 0; i < 20; i++) REQUIRE(fprintf(sink, "%*d\n", i * 300 + 1, i) == i * 300 + 2);
  REQUIRE(fclose(sink) == 0);
  work->in_call = 0;
}

// A fork that the handler may interrupt, in any of its own handlers.
static void fork_here(Work* work) {
  work->in_call = 1;
  const pid_t child = fork();
  if (child == 0) {
    step(work);
    _exit(0);
  }
  work->in_call = 0;
  if (child > 0) __atomic_add_fetch(&children, 1, __ATOMIC_RELAXED);
}

static void* work_in_thread(void* argument) {
  Work work = {.random = (uintptr_t)argument};
  work_here = &work;
  while (!stop) step_and_end(&work);
  finish(&work);
  return NULL;
}

int main(int count, char** arguments) {
  const double half = run_time(count, arguments, 2) / 2;
  struct sigaction action = {.sa_handler = fork_now, .sa_flags = SA_RESTART};
  REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
  FILE* const file = tmpfile();
  REQUIRE(file != NULL);
  for (int i = 0; i < 200; i++) fprintf(file, "%*d\n", i * 7 % 300 + 1, i);

  static Work work;
  work_here = &work;
  ask_for_signal();
  const double end = seconds_now() + half;
  for (uint64_t round = 0; seconds_now() < end; round++) {
    for (int i = 0; i < 200; i++) step_and_end(&work);
    if (round % 4 == 0) use_streams(&work, file);
    if (round % 4 == 2) fork_here(&work);
  }
  if (left_in_child > 0) _exit(0);  // what follows takes longer than a child should
  finish(&work);

  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) start_thread(&threads[i], work_in_thread, (void*)i);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);  // a child of this thread would wait for the others
  while (seconds_now() < end + half) sleep_milliseconds(5);
  stop = 1;
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  reap(0);
  if (forks < 20) fail("only %d forks", (int)forks);
  return 0;
}
