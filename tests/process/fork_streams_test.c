// Threads hold stream locks while they allocate (getdelim grows its line under the lock of its stream), others write to
// every stream, and main forks. The order in which fork takes its locks must not meet theirs the other way round.
// argument: for how many seconds; by default so many times as kForks says
#include "support.h"

enum { kReaders = 2, kForks = 150 };

static int stop;
static FILE* files[kReaders];

static void* read_lines(void* argument) {
  FILE* const file = files[(uintptr_t)argument];
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    char* line = NULL;
    size_t capacity = 0;
    rewind(file);
    while (getdelim(&line, &capacity, '\n', file) >= 0) {
      free(line);
      line = NULL;
      capacity = 0;
    }
    free(line);
  }
  return NULL;
}

static void* flush_all(void* argument) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    fflush(NULL);
    FILE* const file = fopen("/dev/null", "w");
    REQUIRE(file != NULL);
    fprintf(file, "%s\n", "text");
    fclose(file);
    sleep_milliseconds(1);
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
  pthread_t readers[kReaders];
  pthread_t flusher;
  for (uintptr_t i = 0; i < kReaders; i++) start_thread(&readers[i], read_lines, (void*)i);
  start_thread(&flusher, flush_all, NULL);
  alarm(count > 1 ? 0 : 55);
  const double end = end_of_run(count, arguments, 8);
  for (int i = 0; (count > 1 || i < kForks) && seconds_now() < end; i++) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(15);
      FILE* const file = fopen("/dev/null", "w");
      REQUIRE(file != NULL && fprintf(file, "child %d\n", i) > 0 && fclose(file) == 0);
      for (size_t size = 1; size < 200000; size *= 2) free(malloc(size));
      _exit(0);
    }
    REQUIRE(wait_for(child, 15) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kReaders; i++) join_thread(readers[i]);
  join_thread(flusher);
  return 0;
}
