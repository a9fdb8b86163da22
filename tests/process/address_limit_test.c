// With 512 MiB of address space the program starts anew and can still put most of that to use, with one thread and
// with several, in small blocks and in large ones.
#include "support.h"

enum { kLimitMib = 512, kThreads = 4 };

// Links the blocks through their first word; returns how many MiB were allocated before the first failure.
static size_t use_up(size_t size, size_t most_mib) {
  void** first = NULL;
  size_t bytes = 0;
  while (bytes < most_mib * MIB) {
    void** const block = (void**)malloc(size);
    if (block == NULL) {
      REQUIRE(errno == ENOMEM);
      break;
    }
    memset(block, 1, size);
    *block = (void*)first;
    first = block;
    bytes += size;
  }
  while (first != NULL) {
    void** const next = (void**)*first;
    free((void*)first);
    first = next;
  }
  malloc_trim(0);
  return bytes / MIB;
}

static void* body(void* argument) {
  const size_t used = use_up(300, 40);
  if (used < 40) fail("a thread got only %zu MiB", used);
  return argument;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    const struct rlimit limit = {kLimitMib * MIB, kLimitMib * MIB};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    char again[] = "again";
    char* arguments[] = {argv[0], again, NULL};
    execv("/proc/self/exe", arguments);
    fail("exec: errno %d", errno);
  }
  static const size_t sizes[] = {64, 1000, 20000, 200000, 3000000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t used = use_up(sizes[i], 360);
    if (used < 360) fail("blocks of %zu bytes: only %zu MiB of %d could be used", sizes[i], used, kLimitMib);
  }
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) start_thread(&threads[i], body, NULL);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  return 0;
}
