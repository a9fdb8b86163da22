// Stands for: a server whose connections outlive the threads that serve them, after the pattern that Larson and
// Krishnan described: a thread replaces objects at random, then hands all of them to a new thread and ends, so that
// most objects are freed by another thread than allocated them.
//
// usage: larson [threads=16] [operations=20000000] [generations=100] [slots=1000] [least=8] [most=1000]
//
// `operations`, of all threads together, is the amount of work: the time is the figure. So many lines of threads run at
// once; each line has `generations` threads one after another, and one array of `slots` objects. An operation frees the
// object of a random slot and allocates another of `least` to `most` bytes, of which the first and last are written.
// Prints: seconds, operations_per_second, user, system, peak_kib.
#include "bench.h"

enum { kMostThreads = 1024 };

struct line {
  char** slots;
  uint64_t random;
  size_t generations_left;
};

static size_t threads = 16, operations = 20000000, generations = 100, slots = 1000, least = 8, most = 1000;
static size_t operations_each;
static struct line lines[kMostThreads];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t line_ended = PTHREAD_COND_INITIALIZER;
static size_t lines_left;

static char* make_object(uint64_t* random) {
  const size_t size = random_between(random, least, most);
  char* const object = allocate(size);
  object[0] = 1;
  object[size - 1] = 1;
  return object;
}

static void end_line(void) {
  pthread_mutex_lock(&lock);
  if (--lines_left == 0) pthread_cond_signal(&line_ended);
  pthread_mutex_unlock(&lock);
}

static void* serve(void* argument) {
  struct line* const line = argument;
  uint64_t random = line->random;
  for (size_t i = 0; i < operations_each; i++) {
    char** const slot = &line->slots[next_random(&random) % slots];
    free(*slot);
    *slot = make_object(&random);
  }
  line->random = random;
  if (--line->generations_left == 0) {
    end_line();
    return NULL;
  }
  pthread_t next;
  start_thread(&next, serve, line);
  pthread_detach(next);
  return NULL;
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {
      {"threads", &threads}, {"operations", &operations}, {"generations", &generations},
      {"slots", &slots},     {"least", &least},           {"most", &most}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (threads < 1 || threads > kMostThreads || generations < 1 || slots < 1 || least < 1 || most < least) {
    fail("threads: 1 to %d; generations, slots, least: 1 at least; most: least at least", kMostThreads);
  }
  operations_each = operations / threads / generations;

  for (size_t i = 0; i < threads; i++) {
    struct line* const line = &lines[i];
    line->random = i;
    line->generations_left = generations;
    line->slots = map_memory(slots * sizeof(char*), MAP_POPULATE);
    for (size_t slot = 0; slot < slots; slot++) line->slots[slot] = make_object(&line->random);
  }
  lines_left = threads;
  const double start = seconds_now();
  const struct usage before = usage_now();
  for (size_t i = 0; i < threads; i++) {
    pthread_t thread;
    start_thread(&thread, serve, &lines[i]);
    pthread_detach(thread);
  }
  pthread_mutex_lock(&lock);
  while (lines_left > 0) pthread_cond_wait(&line_ended, &lock);
  pthread_mutex_unlock(&lock);
  const double taken = seconds_now() - start;
  const struct usage used = usage_since(before);
  report("{\"seconds\": %.3f, \"operations_per_second\": %.0f, \"user\": %.3f, \"system\": %.3f, \"peak_kib\": %ld}",
         taken, (double)(operations_each * generations * threads) / taken, used.user, used.system, peak_kib());
  return 0;
}
