// A C program linked with the static library: the whole malloc family, libc's own allocations, threads and fork.
#include "support.h"

enum { kThreads = 4, kBlocks = 3000 };

static void* blocks[kThreads][kBlocks];

static void* allocate(void* argument) {
  const uintptr_t index = (uintptr_t)argument;
  for (size_t i = 0; i < kBlocks; i++) {
    const size_t size = i % 100 == 99 ? 200000 : i % 900 + 1;
    blocks[index][i] = malloc(size);
    REQUIRE(blocks[index][i] != NULL);
    memset(blocks[index][i], (int)index + 1, size);
  }
  return NULL;
}

static void* release(void* argument) {
  const uintptr_t index = (uintptr_t)argument;
  for (size_t i = 0; i < kBlocks; i++) {
    REQUIRE(*(unsigned char*)blocks[index][i] == index + 1);
    free(blocks[index][i]);
  }
  return NULL;
}

static void run_threads(void* (*body)(void*)) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, body, (void*)i) == 0);
  for (int i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void use_family(void) {
  char* text = (char*)calloc(10, 10);
  REQUIRE(text != NULL && text[99] == 0);
  text = (char*)realloc(text, 100000);
  text = (char*)reallocarray(text, 1000, 1000);
  REQUIRE(text != NULL && malloc_usable_size(text) >= 1000000);
  free(text);
  void* aligned = NULL;
  REQUIRE(posix_memalign(&aligned, 4096, 100) == 0 && (uintptr_t)aligned % 4096 == 0);
  free(aligned);
  free(aligned_alloc(64, 640));
  free(memalign(256, 10));
  free(valloc(10));
  free(pvalloc(10));
  REQUIRE(mallopt(M_TOP_PAD, 65536) == 1);
  REQUIRE(mallinfo2().arena > 0);
  REQUIRE(malloc_trim(0) <= 1);
  FILE* const nowhere = fopen("/dev/null", "w");
  REQUIRE(nowhere != NULL && malloc_info(0, nowhere) == 0);
  fclose(nowhere);
}

static void use_libc(void) {
  char* text = NULL;
  REQUIRE(asprintf(&text, "%s %d", "text", 5) == 6);
  free(text);
  free(strdup("another text"));
  char* line = NULL;
  size_t capacity = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  REQUIRE(maps != NULL);
  while (getline(&line, &capacity, maps) > 0) continue;
  free(line);
  fclose(maps);
}

int main(void) {
  require_arenite();
  use_family();
  use_libc();
  for (int round = 0; round < 5; round++) {
    run_threads(allocate);
    run_threads(release);
  }
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    use_family();
    run_threads(allocate);
    run_threads(release);
    _exit(0);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
