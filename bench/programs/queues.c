// Stands for: a server of stages, in which some threads make messages and others use them up, for as long as it runs.
// All memory is freed by another thread than allocated it, and the process must not grow.
//
// usage: queues [seconds=600] [producers=2] [consumers=2] [depth=4096]
//
// Producers allocate messages from 16 bytes to 32 KiB, each doubling as often as any other, write them and put them in
// batches into one of two queues; consumers take batches out and free them, but one message in 64, which a consumer
// keeps until 1024 others have been kept. What is resident is sampled each second, in short runs a hundred times.
// Prints: items_per_second, and of the samples of two stretches min, median and max in KiB: early_min_kib … for the
// first tenth after a warm-up of a twentieth, late_min_kib … for the second half; late_to_early_percent, of the
// medians.
#include "bench.h"

enum { kQueues = 2, kBatch = 32, kMostDepth = 1 << 16, kMostThreads = 64, kKept = 1024, kKeepOneIn = 64 };
enum { kMostSamples = 1 << 16 };

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t has_items;
  pthread_cond_t has_room;
  size_t first;
  size_t count;
  int closed;
  void* items[kMostDepth];
};

struct worker {
  pthread_t thread;
  uint64_t random;
  size_t items;
  size_t kept_count;
  void* kept[kKept];
};

static size_t seconds = 600, producers = 2, consumers = 2, depth = 4096;
static struct queue queues[kQueues];
static struct worker workers[2 * kMostThreads];
static long samples[kMostSamples];
static int stop;

static void put(struct queue* queue, void* const* items, size_t count) {
  pthread_mutex_lock(&queue->lock);
  while (queue->count + count > depth) pthread_cond_wait(&queue->has_room, &queue->lock);
  for (size_t i = 0; i < count; i++) queue->items[(queue->first + queue->count + i) % depth] = items[i];
  queue->count += count;
  pthread_cond_signal(&queue->has_items);
  pthread_mutex_unlock(&queue->lock);
}

// Waits for items; gives 0 when the queue is closed and empty.
static size_t take(struct queue* queue, void** items) {
  pthread_mutex_lock(&queue->lock);
  while (queue->count == 0 && !queue->closed) pthread_cond_wait(&queue->has_items, &queue->lock);
  const size_t count = queue->count < kBatch ? queue->count : kBatch;
  for (size_t i = 0; i < count; i++) items[i] = queue->items[(queue->first + i) % depth];
  queue->first = (queue->first + count) % depth;
  queue->count -= count;
  pthread_cond_signal(&queue->has_room);
  pthread_mutex_unlock(&queue->lock);
  return count;
}

static void close_queue(struct queue* queue) {
  pthread_mutex_lock(&queue->lock);
  queue->closed = 1;
  pthread_cond_broadcast(&queue->has_items);
  pthread_mutex_unlock(&queue->lock);
}

static void* produce(void* argument) {
  struct worker* const worker = argument;
  void* batch[kBatch];
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    for (size_t i = 0; i < kBatch; i++) batch[i] = allocate_and_fill(random_doubling(&worker->random, 16, 11));
    put(&queues[next_random(&worker->random) % kQueues], batch, kBatch);
    worker->items += kBatch;
  }
  return NULL;
}

static void* consume(void* argument) {
  struct worker* const worker = argument;
  struct queue* const queue = &queues[(size_t)(worker - workers) % kQueues];
  void* batch[kBatch];
  for (size_t count; (count = take(queue, batch)) > 0;) {
    for (size_t i = 0; i < count; i++) {
      void* item = batch[i];
      if (next_random(&worker->random) % kKeepOneIn == 0) {
        void** const place = &worker->kept[worker->kept_count++ % kKept];
        void* const oldest = *place;
        *place = item;
        item = oldest;
      }
      free(item);
    }
  }
  for (size_t i = 0; i < kKept; i++) free(worker->kept[i]);
  return NULL;
}

static size_t sample_all(double start) {
  const double interval = seconds < 100 ? (double)seconds / 100 : 1;
  const size_t count = seconds < 100 ? 100 : seconds;
  REQUIRE(count <= kMostSamples);
  for (size_t i = 0; i < count; i++) {
    sleep_until(start + (double)(i + 1) * interval);
    samples[i] = resident_kib();
  }
  return count;
}

static int compare(const void* left, const void* right) {
  const long a = *(const long*)left, b = *(const long*)right;
  return (a > b) - (a < b);
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {
      {"seconds", &seconds}, {"producers", &producers}, {"consumers", &consumers}, {"depth", &depth}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (seconds < 1 || producers < 1 || producers > kMostThreads || consumers < kQueues || consumers > kMostThreads ||
      depth < kBatch || depth > kMostDepth) {
    fail("seconds: 1 at least; producers: 1 to %d; consumers: %d to %d; depth: %d to %d", kMostThreads, kQueues,
         kMostThreads, kBatch, kMostDepth);
  }

  for (size_t i = 0; i < kQueues; i++) {
    pthread_mutex_init(&queues[i].lock, NULL);
    pthread_cond_init(&queues[i].has_items, NULL);
    pthread_cond_init(&queues[i].has_room, NULL);
  }
  memset(samples, 1, sizeof samples);
  const double start = seconds_now();
  for (size_t i = 0; i < consumers + producers; i++) {
    workers[i].random = i;
    start_thread(&workers[i].thread, i < consumers ? consume : produce, &workers[i]);
  }
  const size_t count = sample_all(start);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  size_t items = 0;
  for (size_t i = consumers; i < consumers + producers; i++) {
    join_thread(workers[i].thread);
    items += workers[i].items;
  }
  const double taken = seconds_now() - start;
  for (size_t i = 0; i < kQueues; i++) close_queue(&queues[i]);
  for (size_t i = 0; i < consumers; i++) join_thread(workers[i].thread);

  long* const early = samples + count / 20;
  long* const late = samples + count / 2;
  const size_t early_count = count / 10, late_count = count - count / 2;
  qsort(early, early_count, sizeof(long), compare);
  qsort(late, late_count, sizeof(long), compare);
  report(
      "{\"items_per_second\": %.0f, \"early_min_kib\": %ld, \"early_median_kib\": %ld, \"early_max_kib\": %ld, "
      "\"late_min_kib\": %ld, \"late_median_kib\": %ld, \"late_max_kib\": %ld, \"late_to_early_percent\": %.1f, "
      "\"peak_kib\": %ld}",
      (double)items / taken, early[0], early[early_count / 2], early[early_count - 1], late[0], late[late_count / 2],
      late[late_count - 1], 100.0 * (double)late[late_count / 2] / (double)early[early_count / 2], peak_kib());
  return 0;
}
