// However many threads begin at once, there are no more arenas than the limit allows.
#include "support.h"

enum { kThreads = 200, kTries = 6 };

static pthread_barrier_t barrier;

static void* worker(void* unused) {
  (void)unused;
  pthread_barrier_wait(&barrier);
  void* const block = malloc(100);
  pthread_barrier_wait(&barrier);
  free(block);
  return NULL;
}

static long attribute(const char* text, const char* element, const char* name) {
  const char* const start = strstr(text, element);
  const char* const found = start == NULL ? NULL : strstr(start, name);
  if (found == NULL) fail("no %s of %s in what malloc_info wrote", name, element);
  return strtol(found + strlen(name) + 2, NULL, 10);
}

static int run(void) {
  static pthread_t threads[kThreads];
  static char text[1 << 18];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * KIB);
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], &attributes, worker, NULL) == 0);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  FILE* const stream = fmemopen(text, sizeof text, "w");
  REQUIRE(stream != NULL && malloc_info(0, stream) == 0);
  fclose(stream);
  const long count = attribute(text, "<arenas ", "count");
  const long limit = attribute(text, "<arenas ", "limit");
  if (count > limit) fail("%ld arenas; the limit is %ld", count, limit);
  return 0;
}

int main(void) {
  for (int try = 0; try < kTries; try++) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(run());
    if (wait_for(child, 20) != 0) fail("try %d", try);
  }
  return 0;
}
