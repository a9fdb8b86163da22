// Stands for: a server that starts a thread for each request, at first one after another, then many at once, and that
// is idle in the end.
//
// usage: threads [sequence=10000] [together=500] [kib=1024] [idle=10]
//
// Each thread allocates `kib` in mixed sizes, nine of ten blocks below 1 KiB, the others up to 30 KiB, writes them and
// frees them in the order in which they came. The threads of the second phase wait for one another when they hold all
// of it.
// Prints for both phases, `sequence_` and `together_`: seconds, peak_kib (since the start of the program), arenas (as
// malloc_info shows them then; null where the allocator has no malloc_info). Then, in KiB, what is resident: start_kib,
// ended_kib once all threads have ended, idle_kib after so many idle seconds, and idle_growth_kib over the start.
#include "bench.h"

enum { kMostTogether = 10000 };

struct block {
  struct block* next;
};

static size_t sequence = 10000, together = 500, kib = 1024, idle = 10;
static pthread_barrier_t all_hold;
static pthread_t handles[kMostTogether];

static size_t random_size(uint64_t* random) {
  const size_t most = next_random(random) % 10 != 0 ? KIB : 30 * KIB;
  return random_between(random, sizeof(struct block), most);
}

// The blocks hang together by their first words.
static struct block* allocate_all(uint64_t* random) {
  struct block* first = NULL;
  struct block** last = &first;
  for (size_t bytes = 0; bytes < kib * KIB;) {
    const size_t size = random_size(random);
    struct block* const block = allocate_and_fill(size);
    *last = block;
    last = &block->next;
    bytes += size;
  }
  *last = NULL;
  return first;
}

static void free_all(struct block* block) {
  while (block != NULL) {
    struct block* const next = block->next;
    free(block);
    block = next;
  }
}

static void* alone(void* number) {
  uint64_t random = (uintptr_t)number;
  free_all(allocate_all(&random));
  return NULL;
}

static void* with_others(void* number) {
  uint64_t random = (uintptr_t)number;
  struct block* const blocks = allocate_all(&random);
  pthread_barrier_wait(&all_hold);
  free_all(blocks);
  return NULL;
}

static double run_sequence(void) {
  const double start = seconds_now();
  for (size_t i = 0; i < sequence; i++) {
    pthread_t thread;
    start_thread(&thread, alone, (void*)(uintptr_t)i);
    join_thread(thread);
  }
  return seconds_now() - start;
}

static double run_together(void) {
  const double start = seconds_now();
  pthread_barrier_init(&all_hold, NULL, (unsigned)together);
  for (size_t i = 0; i < together; i++) start_thread(&handles[i], with_others, (void*)(uintptr_t)i);
  for (size_t i = 0; i < together; i++) join_thread(handles[i]);
  return seconds_now() - start;
}

// An allocator without a malloc_info of its own leaves glibc's in place, which knows nothing of it.
static int has_malloc_info(void) {
  Dl_info of_malloc, of_info;
  void* const info = dlsym(RTLD_DEFAULT, "malloc_info");
  return info != NULL && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 && dladdr(info, &of_info) != 0 &&
         of_malloc.dli_fbase == of_info.dli_fbase;
}

// The number of arenas as JSON has it.
static void print_arenas(char* text, size_t size) {
  static char buffer[64 * 1024];
  static char line[4096];
  snprintf(text, size, "null");
  if (!has_malloc_info()) return;
  const int fd = memfd_create("malloc_info", MFD_CLOEXEC);
  FILE* const stream = fd < 0 ? NULL : fdopen(fd, "w+");
  REQUIRE(stream != NULL);
  setvbuf(stream, buffer, _IOFBF, sizeof buffer);
  REQUIRE(malloc_info(0, stream) == 0);
  rewind(stream);
  int arenas = 0;
  while (fgets(line, sizeof line, stream) != NULL) {
    for (const char* at = line; (at = strstr(at, "<heap nr")) != NULL; at++) arenas++;
  }
  fclose(stream);
  snprintf(text, size, "%d", arenas);
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {
      {"sequence", &sequence}, {"together", &together}, {"kib", &kib}, {"idle", &idle}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (together < 1 || together > kMostTogether) fail("together: 1 to %d", kMostTogether);

  const long at_start = resident_kib();
  const double sequence_seconds = run_sequence();
  const long sequence_peak = peak_kib();
  char sequence_arenas[16], together_arenas[16];
  print_arenas(sequence_arenas, sizeof sequence_arenas);
  const double together_seconds = run_together();
  const long ended = resident_kib();
  sleep_seconds((double)idle);
  const long rested = resident_kib();
  print_arenas(together_arenas, sizeof together_arenas);
  report(
      "{\"sequence_seconds\": %.3f, \"sequence_peak_kib\": %ld, \"sequence_arenas\": %s, \"together_seconds\": %.3f, "
      "\"together_peak_kib\": %ld, \"together_arenas\": %s, \"start_kib\": %ld, \"ended_kib\": %ld, \"idle_kib\": %ld, "
      "\"idle_growth_kib\": %ld}",
      sequence_seconds, sequence_peak, sequence_arenas, together_seconds, peak_kib(), together_arenas, at_start, ended,
      rested, rested - at_start);
  return 0;
}
