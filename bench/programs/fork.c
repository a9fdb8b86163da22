// Stands for: a database that forks to write its memory out while its threads go on.
//
// usage: fork [threads=64] [mib=4096] [forks=50]
//
// The threads, the first one of the process among them, fill `mib` together with blocks in mixed sizes up to 30 KiB,
// one arena for each thread where the allocator lets itself be told (M_ARENA_MAX), and stay. Then the process forks,
// again and again; each child allocates two blocks and ends. Prints the medians over all forks, in microseconds:
// fork_us, how long the parent is in fork; first_us, how long the child's first malloc takes; second_us, its second
// one.
#include <sys/wait.h>

#include "bench.h"

enum { kMostThreads = 1000, kMostForks = 10000 };

static size_t threads = 64, mib = 4096, forks = 50;
static pthread_barrier_t all_filled;

static void fill(uint64_t random) {
  for (size_t bytes = 0; bytes < mib * MIB / (threads + 1);) {
    const size_t most = next_random(&random) % 10 != 0 ? KIB : 30 * KIB;
    const size_t size = random_between(&random, 8, most);
    allocate_and_fill(size);
    bytes += size;
  }
}

static void* fill_and_stay(void* number) {
  fill((uintptr_t)number);
  pthread_barrier_wait(&all_filled);
  for (;;) pause();
  return NULL;
}

static double time_of_malloc(void) {
  const double start = seconds_now();
  void* volatile block = allocate(100);
  (void)block;
  return (seconds_now() - start) * 1e6;
}

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static double median(double* values) {
  qsort(values, forks, sizeof *values, compare);
  return values[forks / 2];
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {{"threads", &threads}, {"mib", &mib}, {"forks", &forks}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (threads < 1 || threads > kMostThreads) fail("threads: 1 to %d", kMostThreads);
  if (forks < 1 || forks > kMostForks) fail("forks: 1 to %d", kMostForks);
  mallopt(M_ARENA_MAX, (int)threads + 1);
  pthread_barrier_init(&all_filled, NULL, (unsigned)threads + 1);
  for (size_t i = 0; i < threads; i++) {
    pthread_t thread;
    start_thread(&thread, fill_and_stay, (void*)(uintptr_t)i);
  }
  fill(threads);
  pthread_barrier_wait(&all_filled);

  static double fork_us[kMostForks];
  double* const first_us = mmap(NULL, 2 * sizeof fork_us, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(first_us != MAP_FAILED);
  double* const second_us = first_us + kMostForks;
  for (size_t i = 0; i < forks; i++) {
    const double start = seconds_now();
    const pid_t child = fork();
    if (child == 0) {
      first_us[i] = time_of_malloc();
      second_us[i] = time_of_malloc();
      _exit(0);
    }
    fork_us[i] = (seconds_now() - start) * 1e6;
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  }
  report("{\"fork_us\": %.1f, \"first_us\": %.2f, \"second_us\": %.2f, \"peak_kib\": %ld}", median(fork_us),
         median(first_us), median(second_us), peak_kib());
  return 0;
}
