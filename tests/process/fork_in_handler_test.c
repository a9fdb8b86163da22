// A signal handler forks, again and again, in the middle of whatever the process does: calls of malloc, free and
// realloc, operations on streams, other handlers' forks. Every other child ends at once, the others leave the handler
// and go on with the interrupted call. First with one thread, then with several.
// argument: for how many seconds; 2 by default
#include "support.h"

enum { kBlocks = 300, kMostChildren = 8, kThreads = 4 };

typedef struct {
  unsigned char* blocks[kBlocks];
  size_t sizes[kBlocks];
  uint64_t random;
} Work;

static int children;
static volatile sig_atomic_t forks;
static __thread volatile sig_atomic_t left_in_child;  // steps that a child still does
static volatile int stop;

static void reap(int options) {
  for (int status; waitpid(-1, &status, options) > 0; __atomic_sub_fetch(&children, 1, __ATOMIC_RELAXED)) {
    if (status != 0) fail("a child ended with status 0x%x", (unsigned)status);
  }
}

static int in_handler;

static void fork_now(int signal_number) {
  const int saved = errno;
  if (!left_in_child && __atomic_exchange_n(&in_handler, 1, __ATOMIC_ACQUIRE) == 0) {
    reap(WNOHANG);
    const pid_t child = __atomic_load_n(&children, __ATOMIC_RELAXED) < kMostChildren ? fork() : -1;
    if (child == 0) {
      signal(signal_number, SIG_DFL);
      alarm(20);
      if (forks % 2 == 0) _exit(0);
      left_in_child = 500;
    } else {
      if (child > 0) {
        __atomic_add_fetch(&children, 1, __ATOMIC_RELAXED);
        forks++;
      }
      __atomic_store_n(&in_handler, 0, __ATOMIC_RELEASE);
    }
  }
  errno = saved;
}

static void step(Work* work) {
  const uint64_t value = next_random(&work->random);
  const size_t slot = value % kBlocks;
  const size_t size = 1 + (value >> 8) % ((value >> 40) % 32 == 0 ? 300000 : 2000);
  if (work->blocks[slot] != NULL && !holds(work->blocks[slot], work->sizes[slot], (unsigned)slot)) {
    fail("wrong bytes in a block of %zu", work->sizes[slot]);
  }
  if ((value >> 50) % 4 == 0) {
    work->blocks[slot] = (unsigned char*)realloc(work->blocks[slot], size);
  } else {
    free(work->blocks[slot]);
    work->blocks[slot] = (unsigned char*)malloc(size);
  }
  REQUIRE(work->blocks[slot] != NULL);
  work->sizes[slot] = size;
  fill(work->blocks[slot], size, (unsigned)slot);
  if (left_in_child > 0 && --left_in_child == 0) _exit(0);
}

static void finish(Work* work) {
  for (size_t slot = 0; slot < kBlocks; slot++) free(work->blocks[slot]);
}

static void use_stream(FILE* file) {
  char* line = NULL;
  size_t room = 0;
  rewind(file);
  while (getdelim(&line, &room, '\n', file) >= 0) {
  }
  free(line);
}

// A fork that the handler may interrupt, in any of its own handlers.
static void fork_here(Work* work) {
  const pid_t child = fork();
  if (child == 0) {
    step(work);
    _exit(0);
  }
  if (child > 0) __atomic_add_fetch(&children, 1, __ATOMIC_RELAXED);
}

static void take_signals(int how) {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  REQUIRE(pthread_sigmask(how, &alarms, NULL) == 0);
}

static void* work_in_thread(void* argument) {
  Work work = {.random = (uintptr_t)argument};
  take_signals(SIG_UNBLOCK);
  while (!stop) step(&work);
  finish(&work);
  return NULL;
}

static void set_interval(long microseconds) {
  const struct itimerval interval = {{0, microseconds}, {0, microseconds}};
  REQUIRE(setitimer(ITIMER_REAL, &interval, NULL) == 0);
}

int main(int count, char** arguments) {
  const double half = (count > 1 ? atof(arguments[1]) : 2) / 2;
  struct sigaction action = {.sa_handler = fork_now, .sa_flags = SA_RESTART};
  REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
  FILE* const file = tmpfile();
  REQUIRE(file != NULL);
  for (int i = 0; i < 200; i++) fprintf(file, "%*d\n", i * 7 % 300 + 1, i);

  set_interval(700);
  static Work work;
  const double end = seconds_now() + half;
  for (uint64_t round = 0; seconds_now() < end; round++) {
    for (int i = 0; i < 200; i++) step(&work);
    if (round % 4 == 0) use_stream(file);
    if (round % 4 == 2) fork_here(&work);
  }
  finish(&work);

  take_signals(SIG_BLOCK);  // a child of this thread would wait for the others
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) start_thread(&threads[i], work_in_thread, (void*)i);
  while (seconds_now() < end + half) sleep_milliseconds(5);
  set_interval(0);
  stop = 1;
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  reap(0);
  if (forks < 20) fail("only %d forks", (int)forks);
  return 0;
}
