// Stands for: a program of many threads whose objects have all sizes and all lifetimes, and of which many are freed by
// another thread than allocated them: a task system, or a server with caches that all threads share.
//
// usage: mstress [threads=16] [operations=20000000] [rounds=10] [shared=4096]
//
// `operations`, of all threads together, is the amount of work: the time is the figure. In each round so many threads
// start, do their share and end. An operation allocates a block and puts it in place of an older one, which is freed:
// 75 of 100 into one of 64 slots of the thread (short lives), 15 into one of 4096 (long lives), 10 into one of the
// `shared` slots of all threads, by an atomic exchange. Sizes: 15 of 16 up to 512 bytes, most others up to 8 KiB, one
// of 1024 up to 256 KiB; the first bytes of each page are written. A thread frees what it has when it ends; the shared
// slots stay full until the end of the program.
// Prints: seconds, operations_per_second, user, system, peak_kib.
#include "bench.h"

enum { kMostThreads = 1024, kMostShared = 1 << 20, kShort = 64, kLong = 4096 };

struct worker {
  pthread_t thread;
  uint64_t random;
};

static size_t threads = 16, operations = 20000000, rounds = 10, shared_count = 4096;
static size_t operations_each;
static struct worker workers[kMostThreads];
static void* shared[kMostShared];

static size_t random_size(uint64_t* random) {
  const size_t kind = next_random(random) % 1024;
  if (kind == 0) return random_between(random, 8 * KIB, 256 * KIB);
  return kind < 64 ? random_between(random, 512, 8 * KIB) : random_between(random, 1, 512);
}

static void* make_block(uint64_t* random) {
  const size_t size = random_size(random);
  void* const block = allocate(size);
  touch(block, size);
  return block;
}

static void* exchange(void** slot, void* block) {
  void* const before = *slot;
  *slot = block;
  return before;
}

static void* work(void* argument) {
  struct worker* const worker = argument;
  uint64_t random = worker->random;
  void* short_lived[kShort] = {NULL};
  void* long_lived[kLong] = {NULL};
  for (size_t i = 0; i < operations_each; i++) {
    const size_t kind = next_random(&random) % 100;
    const size_t place = next_random(&random);
    void* const block = make_block(&random);
    if (kind < 75) {
      free(exchange(&short_lived[place % kShort], block));
    } else if (kind < 90) {
      free(exchange(&long_lived[place % kLong], block));
    } else {
      free(__atomic_exchange_n(&shared[place % shared_count], block, __ATOMIC_ACQ_REL));
    }
  }
  for (size_t i = 0; i < kShort; i++) free(short_lived[i]);
  for (size_t i = 0; i < kLong; i++) free(long_lived[i]);
  worker->random = random;
  return NULL;
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {
      {"threads", &threads}, {"operations", &operations}, {"rounds", &rounds}, {"shared", &shared_count}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (threads < 1 || threads > kMostThreads || rounds < 1 || shared_count < 1 || shared_count > kMostShared) {
    fail("threads: 1 to %d; rounds: 1 at least; shared: 1 to %d", kMostThreads, kMostShared);
  }
  operations_each = operations / threads / rounds;

  for (size_t i = 0; i < threads; i++) workers[i].random = i;
  const double start = seconds_now();
  const struct usage before = usage_now();
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < threads; i++) start_thread(&workers[i].thread, work, &workers[i]);
    for (size_t i = 0; i < threads; i++) join_thread(workers[i].thread);
  }
  const double taken = seconds_now() - start;
  const struct usage used = usage_since(before);
  report("{\"seconds\": %.3f, \"operations_per_second\": %.0f, \"user\": %.3f, \"system\": %.3f, \"peak_kib\": %ld}",
         taken, (double)(operations_each * rounds * threads) / taken, used.user, used.system, peak_kib());
  return 0;
}
