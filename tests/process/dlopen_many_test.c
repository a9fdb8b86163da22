// Many copies of one library with thread-local data are loaded, used by threads old and new, and unloaded, again and
// again. The loader allocates for each of them, and grows the threads' tables of thread-local blocks while other
// threads use the heap.
// HELPER_LIB: the library
#include "support.h"

enum { kCopies = 100, kRounds = 4, kThreads = 3 };

typedef unsigned (*Touch)(void);

static char folder[64];
static void* handles[kCopies];
static Touch touches[kCopies];
static pthread_barrier_t barrier;
static int stop;

static void path_of(char* path, size_t size, int index) { snprintf(path, size, "%s/lib%d.so", folder, index); }

static void copy_library(const char* from, const char* to) {
  static char bytes[1 << 20];
  const int in = open(from, O_RDONLY | O_CLOEXEC);
  if (in < 0) fail("%s cannot be opened", from);
  const ssize_t length = read(in, bytes, sizeof bytes);
  close(in);
  const int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  REQUIRE(out >= 0 && length > 0 && (size_t)length < sizeof bytes);
  REQUIRE(write(out, bytes, (size_t)length) == length);
  close(out);
}

static void touch_all(unsigned expected) {
  for (int i = 0; i < kCopies; i++) {
    const unsigned count = touches[i]();
    if (count != expected) fail("library %d: thread-local data is %u, not %u", i, count, expected);
    free(malloc((size_t)i * 50));
  }
}

// Lives on while libraries come and go.
static void* old_thread(void* argument) {
  for (;;) {
    pthread_barrier_wait(&barrier);
    if (stop) return argument;
    touch_all(4);
    touch_all(5);
    pthread_barrier_wait(&barrier);
  }
}

static void* new_thread(void* argument) {
  touch_all(4);
  return argument;
}

static void* churn(void* argument) {
  uint64_t random = 1;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    void* const a = malloc(next_random(&random) % 3000);
    void* const b = calloc(1, next_random(&random) % 3000);
    free(a);
    free(b);
  }
  return argument;
}

int main(void) {
  const char* const library = getenv("HELPER_LIB");
  if (library == NULL) fail("HELPER_LIB is not set");
  snprintf(folder, sizeof folder, "/tmp/dlopen_many.%d.XXXXXX", (int)getpid());
  REQUIRE(mkdtemp(folder) != NULL);
  char path[128];
  for (int i = 0; i < kCopies; i++) {
    path_of(path, sizeof path, i);
    copy_library(library, path);
  }
  REQUIRE(pthread_barrier_init(&barrier, NULL, kThreads + 1) == 0);
  pthread_t threads[kThreads];
  pthread_t churning;
  for (int i = 0; i < kThreads; i++) start_thread(&threads[i], old_thread, NULL);
  start_thread(&churning, churn, NULL);
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < kCopies; i++) {
      path_of(path, sizeof path, i);
      handles[i] = dlopen(path, i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
      if (handles[i] == NULL) fail("dlopen: %s", dlerror());
      touches[i] = (Touch)dlsym(handles[i], "touch");
      REQUIRE(touches[i] != NULL);
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_t fresh;
    start_thread(&fresh, new_thread, NULL);
    join_thread(fresh);
    for (int i = 0; i < kCopies; i++) REQUIRE(dlclose(handles[i]) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  join_thread(churning);
  for (int i = 0; i < kCopies; i++) {
    path_of(path, sizeof path, i);
    unlink(path);
  }
  rmdir(folder);
  return 0;
}
