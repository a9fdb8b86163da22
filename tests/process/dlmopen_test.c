// Libraries in a namespace of their own find another libc there, with its malloc, and another arenite if they ask for
// one: each serves its own callers, in threads old and new and in a forked child, and none takes what is another's.
// HELPER_LIB: a library that allocates
#include "support.h"

typedef void* (*Allocate)(size_t size);
typedef void (*Release)(void* block);

typedef struct {
  Allocate take;
  Release give;
} Heap;

enum { kHeaps = 3, kMany = 200 };
static Heap heaps[kHeaps];
static pthread_barrier_t loaded;

static Heap load(const char* path, const char* take, const char* give) {
  void* const library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
  if (library == NULL) fail("%s", dlerror());
  const Heap heap = {(Allocate)dlsym(library, take), (Release)dlsym(library, give)};
  REQUIRE(heap.take != NULL && heap.give != NULL);
  return heap;
}

static void* use(void* argument) {
  unsigned char* blocks[kHeaps][kMany];
  for (size_t i = 0; i < kMany; i++) {
    for (size_t heap = 0; heap < kHeaps; heap++) {
      blocks[heap][i] = (unsigned char*)heaps[heap].take(i * i * 5 + 1);
      REQUIRE(blocks[heap][i] != NULL);
      fill(blocks[heap][i], i * i * 5 + 1, (unsigned)(heap + i));
    }
  }
  for (size_t i = 0; i < kMany; i++) {
    for (size_t heap = 0; heap < kHeaps; heap++) {
      REQUIRE(holds(blocks[heap][i], i * i * 5 + 1, (unsigned)(heap + i)));
      heaps[heap].give(blocks[heap][i]);
    }
  }
  return argument;
}

static void* wait_and_use(void* argument) {
  pthread_barrier_wait(&loaded);
  return use(argument);
}

int main(void) {
  REQUIRE(pthread_barrier_init(&loaded, NULL, 2) == 0);
  pthread_t old;
  start_thread(&old, wait_and_use, NULL);
  heaps[0] = (Heap){malloc, free};
  heaps[1] = load(getenv("HELPER_LIB"), "take", "give");
  heaps[2] = load(getenv("DLOPEN_LIB"), "malloc", "free");
  REQUIRE((void*)heaps[2].take != (void*)malloc);
  pthread_barrier_wait(&loaded);
  use(NULL);
  join_thread(old);
  pthread_t new_one;
  start_thread(&new_one, use, NULL);
  join_thread(new_one);
  malloc_trim(0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    use(NULL);
    _exit(0);
  }
  REQUIRE(wait_for(child, 20) == 0);
  return 0;
}
