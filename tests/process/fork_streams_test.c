// Threads hold stream locks while they allocate (getdelim grows its line under the lock of its stream), others write to
// every stream, open and close files, and fork. The order in which fork takes its locks must not meet theirs the other
// way round.
//
// argument: for how many seconds; 1.5 by default
#include "support.h"

enum { kReaders = 2, kOpeners = 2, kForkers = 2 };

static int stop;
static FILE* files[kReaders];

static int goes_on(void) { return !__atomic_load_n(&stop, __ATOMIC_RELAXED); }

static void* read_lines(void* argument) {
  FILE* const file = files[(uintptr_t)argument];
  while (goes_on()) {
    char* line = NULL;
    size_t capacity = 0;
    rewind(file);
    for (int number = 0; getdelim(&line, &capacity, '\n', file) >= 0; number++) {
      REQUIRE(atoi(line) == number);
      free(line);
      line = NULL;
      capacity = 0;
    }
    free(line);
  }
  return NULL;
}

static void* flush_all(void* argument) {
  while (goes_on()) {
    fflush(NULL);
    sleep_milliseconds(1);
  }
  return argument;
}

static void use_a_file(int number) {
  FILE* const file = fopen("/dev/null", "w");
  REQUIRE(file != NULL && fprintf(file, "%*d\n", number % 3000 + 1, number) > 0 && fclose(file) == 0);
}

static void* open_and_close(void* argument) {
  for (int i = 0; goes_on(); i++) use_a_file(i);
  return argument;
}

static void* make_children(void* argument) {
  while (goes_on()) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int i = 0; i < 10; i++) use_a_file(i);
      for (size_t size = 1; size < 200000; size *= 2) free(malloc(size));
      _exit(0);
    }
    const int status = wait_for(child, 15);
    if (status != 0) fail("a child ended with status 0x%x", (unsigned)status);
  }
  return argument;
}

int main(int count, char** arguments) {
  for (int i = 0; i < kReaders; i++) {
    files[i] = tmpfile();
    REQUIRE(files[i] != NULL);
    for (int line = 0; line < 300; line++) fprintf(files[i], "%*d\n", line * 7 % 3000 + 1, line);
    rewind(files[i]);
  }
  pthread_t threads[kReaders + kOpeners + kForkers + 1];
  pthread_t* next = threads;
  for (uintptr_t i = 0; i < kReaders; i++) start_thread(next++, read_lines, (void*)i);
  for (int i = 0; i < kOpeners; i++) start_thread(next++, open_and_close, NULL);
  for (int i = 0; i < kForkers; i++) start_thread(next++, make_children, NULL);
  start_thread(next++, flush_all, NULL);
  const double time = run_time(count, arguments, 1.5);
  alarm((unsigned)time + 30);
  sleep_milliseconds((long)(time * 1000));
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  while (next > threads) join_thread(*--next);
  return 0;
}
