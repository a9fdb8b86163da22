// arenite is not the process's malloc but loaded late, when other libraries have used up the loader's reserve for
// thread-local data: by a thread that then ends, for threads old and new, closed and loaded again.
// TEST-PRELOAD: no
// HELPER_LIB: a library that takes 128 bytes of the reserve
#include "support.h"

typedef void* (*Allocate)(size_t size);
typedef void (*Release)(void* block);

static Allocate take;
static Release give;

// The same library counts anew under another name.
static void use_up_reserve(void) {
  char folder[] = "/tmp/dlopen_itself_XXXXXX";
  REQUIRE(mkdtemp(folder) != NULL);
  static char bytes[1 << 20];
  const int in = open(getenv("HELPER_LIB"), O_RDONLY | O_CLOEXEC);
  REQUIRE(in >= 0);
  const ssize_t length = read(in, bytes, sizeof bytes);
  close(in);
  int loaded = 0;
  for (int i = 0; i < 200; i++) {
    char path[100];
    snprintf(path, sizeof path, "%s/%d.so", folder, i);
    const int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    REQUIRE(out >= 0 && write(out, bytes, (size_t)length) == length);
    close(out);
    void* const handle = dlopen(path, RTLD_NOW);
    unlink(path);
    if (handle == NULL) break;
    loaded++;
  }
  rmdir(folder);
  REQUIRE(loaded < 200);
}

static void* load(void* argument) {
  void* const library = dlopen(getenv("DLOPEN_LIB"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail("%s", dlerror());
  take = (Allocate)dlsym(library, "malloc");
  give = (Release)dlsym(library, "free");
  REQUIRE(take != NULL && give != NULL && (void*)take != (void*)malloc);
  return argument;
}

static void use(void) {
  unsigned char* blocks[300];
  for (size_t i = 0; i < 300; i++) {
    blocks[i] = (unsigned char*)take(i * i + 1);
    REQUIRE(blocks[i] != NULL);
    fill(blocks[i], i * i + 1, (unsigned)i);
  }
  for (size_t i = 0; i < 300; i++) {
    REQUIRE(holds(blocks[i], i * i + 1, (unsigned)i));
    give(blocks[i]);
  }
}

static void* load_and_use(void* argument) {
  load(NULL);
  use();
  return argument;
}

static pthread_barrier_t barrier;
static void* wait_and_use(void* argument) {
  pthread_barrier_wait(&barrier);
  use();
  return argument;
}

int main(void) {
  use_up_reserve();
  REQUIRE(pthread_barrier_init(&barrier, NULL, 2) == 0);
  pthread_t old;
  start_thread(&old, wait_and_use, NULL);
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    start_thread(&thread, load_and_use, NULL);
    join_thread(thread);
    void* const library = dlopen(getenv("DLOPEN_LIB"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL && dlclose(library) == 0 && dlclose(library) == 0);
  }
  load(NULL);
  pthread_barrier_wait(&barrier);
  use();
  join_thread(old);
  give(malloc(100));  // that of the process: handed on
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    use();
    _exit(0);
  }
  REQUIRE(wait_for(child, 20) == 0);
  return 0;
}
