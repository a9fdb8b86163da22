// Stands for: a threaded web application server as the benchmark ebizzy describes it: each request copies a table of
// some hundred KiB, looks something up in the copy and throws it away.
//
// usage: ebizzy [threads=4] [seconds=10] [chunks=10] [kib=256]
//
// The chunks of sorted records are allocated up front, of half to one and a half times `kib`. Each thread then picks a
// chunk, allocates a copy of it, fills it, searches the copy for a random record and frees it, until the time is over.
// Prints: records_per_second of all threads, seconds, user, system (of all threads together, in seconds), system_share
// (system time in per cent of user time), minor_faults, peak_kib. All but the peak are of the threads' time only.
#include "bench.h"

enum { kMostThreads = 256, kMostChunks = 1024 };

struct chunk {
  size_t* records;
  size_t count;
};

struct worker {
  pthread_t thread;
  uint64_t random;
  size_t records;
  char apart[64];
};

static size_t threads = 4, seconds = 10, chunk_count = 10, kib = 256;
static struct chunk chunks[kMostChunks];
static struct worker workers[kMostThreads];
static int stop;

static void make_chunks(void) {
  uint64_t random = 1;
  for (size_t i = 0; i < chunk_count; i++) {
    struct chunk* const chunk = &chunks[i];
    chunk->count = random_between(&random, kib * KIB / 2, kib * KIB * 3 / 2) / sizeof(size_t);
    chunk->records = allocate(chunk->count * sizeof(size_t));
    for (size_t record = 0; record < chunk->count; record++) chunk->records[record] = record * 3;
  }
}

static size_t find_record(const size_t* records, size_t count, size_t key) {
  size_t first = 0;
  while (count > 1) {
    const size_t half = count / 2;
    if (records[first + half] <= key) first += half;
    count -= half;
  }
  return first;
}

static void* serve(void* argument) {
  struct worker* const worker = argument;
  size_t records = 0;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    const struct chunk* const chunk = &chunks[next_random(&worker->random) % chunk_count];
    const size_t bytes = chunk->count * sizeof(size_t);
    size_t* const copy = allocate(bytes);
    memcpy(copy, chunk->records, bytes);
    const size_t wanted = next_random(&worker->random) % chunk->count;
    REQUIRE(find_record(copy, chunk->count, wanted * 3) == wanted);
    free(copy);
    records++;
  }
  worker->records = records;
  return NULL;
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {
      {"threads", &threads}, {"seconds", &seconds}, {"chunks", &chunk_count}, {"kib", &kib}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (threads < 1 || threads > kMostThreads) fail("threads: 1 to %d", kMostThreads);
  if (chunk_count < 1 || chunk_count > kMostChunks || kib < 1) fail("chunks: 1 to %d, of 1 KiB at least", kMostChunks);

  make_chunks();
  const double start = seconds_now();
  const struct usage before = usage_now();
  for (size_t i = 0; i < threads; i++) {
    workers[i].random = i;
    start_thread(&workers[i].thread, serve, &workers[i]);
  }
  sleep_until(start + (double)seconds);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  size_t records = 0;
  for (size_t i = 0; i < threads; i++) {
    join_thread(workers[i].thread);
    records += workers[i].records;
  }
  const double taken = seconds_now() - start;
  const struct usage used = usage_since(before);
  report(
      "{\"records_per_second\": %.0f, \"seconds\": %.3f, \"user\": %.3f, \"system\": %.3f, \"system_share\": %.2f, "
      "\"minor_faults\": %ld, \"peak_kib\": %ld}",
      (double)records / taken, taken, used.user, used.system, used.user > 0 ? 100 * used.system / used.user : 0.0,
      used.minor_faults, peak_kib());
  return 0;
}
