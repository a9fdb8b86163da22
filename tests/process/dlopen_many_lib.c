// A library with thread-local data and a constructor that allocates; dlopen_many_test loads many copies of it.
#include <stdlib.h>
#include <string.h>

static __thread char buffer[700];
static __thread unsigned count = 3;
static void* kept;

__attribute__((constructor)) static void start(void) {
  kept = malloc(1000);
  if (kept != NULL) memset(kept, 9, 1000);
}

__attribute__((destructor)) static void stop(void) { free(kept); }

// Counts the calls by this thread, from 4 on.
unsigned touch(void);
unsigned touch(void) {
  memset(buffer, 1, sizeof buffer);
  return ++count;
}
