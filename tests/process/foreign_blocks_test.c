// Blocks cross the border between the program and what does not find arenite: a plug-in that is loaded with
// RTLD_DEEPBIND, in both directions; and libc's own malloc, asked for by handle, whose blocks the program frees,
// resizes and measures. HELPER_LIB: the plug-in
#include "support.h"

typedef void* (*Allocate)(size_t size);
typedef void* (*AllocateAligned)(size_t alignment, size_t size);
typedef void* (*Resize)(void* block, size_t size);
typedef void (*Release)(void* block);

static Allocate libc_malloc;
static AllocateAligned libc_memalign;
static void* plugin;

static const size_t sizes[] = {1, 24, 100, 1000, 5000, 40000, 200000, 3000000};
enum { kSizes = sizeof sizes / sizeof *sizes };

static void* find(void* handle, const char* name) {
  void* const symbol = dlsym(handle, name);
  if (symbol == NULL) fail("%s is not there", name);
  return symbol;
}

static void use_libcs_blocks(int round) {
  for (int i = 0; i < kSizes; i++) {
    const size_t size = sizes[i] + (size_t)round;
    unsigned char* block = (unsigned char*)libc_malloc(size);
    REQUIRE(block != NULL && malloc_usable_size(block) >= size);
    fill(block, size, (unsigned)i);
    errno = 5;
    free(block);
    REQUIRE(errno == 5);
    block = (unsigned char*)libc_memalign(4096, size);
    fill(block, size, (unsigned)i);
    block = (unsigned char*)realloc(block, size * 3);
    REQUIRE(block != NULL && holds(block, size, (unsigned)i));
    block = (unsigned char*)realloc(block, size / 2 + 1);
    REQUIRE(block != NULL && holds(block, size / 2 + 1, (unsigned)i));
    free(block);
  }
}

static void* use_libcs_blocks_in_thread(void* argument) {
  use_libcs_blocks(1);
  return argument;
}

static void* blocks_of_thread[kSizes];
static void* take_libcs_blocks(void* argument) {
  for (int i = 0; i < kSizes; i++) blocks_of_thread[i] = libc_malloc(sizes[i]);
  return argument;
}

static void use_plugin(void) {
  const Allocate allocate = (Allocate)find(plugin, "plugin_malloc");
  const Allocate aligned = (Allocate)find(plugin, "plugin_aligned");
  const Resize resize = (Resize)find(plugin, "plugin_realloc");
  const Release release = (Release)find(plugin, "plugin_free");
  char* (*const duplicate)(const char*) = (char* (*)(const char*))find(plugin, "plugin_strdup");
  for (int i = 0; i < kSizes; i++) {
    const size_t size = sizes[i];
    free(allocate(size));
    free(aligned((size + 63) / 64 * 64));
    release(malloc(size));
    release(memalign(4096, size));
    unsigned char* block = (unsigned char*)malloc(size);
    fill(block, size, (unsigned)i);
    block = (unsigned char*)resize(block, size * 2);
    REQUIRE(block != NULL && holds(block, size, (unsigned)i));
    block = (unsigned char*)realloc(block, size * 3);
    REQUIRE(block != NULL && holds(block, size, (unsigned)i));
    release(block);
    free(duplicate("to the program"));
    release(strdup("to the plug-in"));
  }
}

// Status of a child that does something with a block of libc's; what it says goes to `said`.
static int status_with(const char* option, void (*body)(void), char* said, size_t room) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], 2);
    setenv("FOREIGN", option, 1);
    body();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; length < room - 1 && (got = read(ends[0], said + length, room - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  said[length] = 0;
  close(ends[0]);
  return wait_for(child, 20);
}

static void free_inside(void) { free((char*)libc_malloc(100) + 16); }

// In a program of its own, since the option is read at its start.
static void start_again(void) {
  char options[64];
  snprintf(options, sizeof options, "foreign_blocks=%s", getenv("FOREIGN"));
  setenv("ARENITE_OPTIONS", options, 1);
  execl("/proc/self/exe", "test", "only", (char*)NULL);
}

int main(int count, char** arguments) {
  void* const libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  libc_malloc = (Allocate)find(libc, "malloc");
  libc_memalign = (AllocateAligned)find(libc, "memalign");
  REQUIRE((void*)libc_malloc != (void*)malloc);
  if (count > 1 && strcmp(arguments[1], "only") == 0) {
    for (int i = 0; i < kSizes; i++) free(libc_malloc(sizes[i]));
    return 0;
  }

  use_libcs_blocks(0);
  pthread_t thread;
  start_thread(&thread, use_libcs_blocks_in_thread, NULL);
  join_thread(thread);
  start_thread(&thread, take_libcs_blocks, NULL);
  join_thread(thread);
  for (int i = 0; i < kSizes; i++) free(blocks_of_thread[i]);

  char said[4096];
  int status = status_with("", free_inside, said, sizeof said);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(said, "free(): invalid pointer") == NULL) {
    fail("free of an address inside of libc's block: status 0x%x, '%s'", (unsigned)status, said);
  }
  status = status_with("0", start_again, said, sizeof said);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(said, "free(): invalid pointer") == NULL) {
    fail("foreign_blocks=0: status 0x%x, '%s'", (unsigned)status, said);
  }
  status = status_with("1", start_again, said, sizeof said);
  const char* const first = strstr(said, "left where they are");
  if (status != 0 || first == NULL || strstr(first + 1, "left where they are") != NULL) {
    fail("foreign_blocks=1: status 0x%x, '%s'", (unsigned)status, said);
  }

  plugin = dlopen(getenv("HELPER_LIB"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (plugin == NULL) fail("%s", dlerror());
  use_plugin();
  use_libcs_blocks(2);  // those that were there before are still libc's
  return 0;
}
