// Stands for: a program that works on large buffers of all sizes for a long time, and asks for its memory to be given
// back now and then. The system allows a process 65,530 mappings: an allocator that cuts holes into its own, or leaves
// some behind, uses them up in the end.
//
// usage: mappings [allocations=1000000] [live=200] [trim_every=1000]
//
// One block after another of 64 KiB to 8 MiB takes the place of one of the `live` ones at random; one byte of it is
// written. After each `trim_every` blocks the mappings are counted, malloc_trim is called, and they are counted again.
// An allocator without a malloc_trim of its own leaves glibc's in place, which does nothing for it.
// Prints: seconds (without the counting), start_lines, most_lines, end_lines (all blocks freed, and trimmed): lines of
// /proc/self/maps; peak_kib.
#include "bench.h"

enum { kMostLive = 1 << 16 };

static void* blocks[kMostLive];

int main(int argc, char** argv) {
  size_t allocations = 1000000, live = 200, trim_every = 1000;
  const struct argument arguments[] = {{"allocations", &allocations}, {"live", &live}, {"trim_every", &trim_every}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (live < 1 || live > kMostLive || trim_every < 1) fail("live: 1 to %d; trim_every: 1 at least", kMostLive);

  const long start_lines = mapping_count();
  long most_lines = start_lines;
  double start = seconds_now();
  uint64_t random = 1;
  for (size_t i = 1; i <= allocations; i++) {
    void** const place = &blocks[next_random(&random) % live];
    free(*place);
    const size_t size = random_between(&random, 64 * KIB, 8 * MIB);
    *place = allocate(size);
    ((volatile char*)*place)[next_random(&random) % size] = 1;
    if (i % trim_every != 0) continue;
    const double stopped = seconds_now();
    const long before = mapping_count();
    start += seconds_now() - stopped;
    malloc_trim(0);
    const double stopped_again = seconds_now();
    const long after = mapping_count();
    if (before > most_lines) most_lines = before;
    if (after > most_lines) most_lines = after;
    start += seconds_now() - stopped_again;
  }
  for (size_t i = 0; i < live; i++) free(blocks[i]);
  malloc_trim(0);
  report("{\"seconds\": %.3f, \"start_lines\": %ld, \"most_lines\": %ld, \"end_lines\": %ld, \"peak_kib\": %ld}",
         seconds_now() - start, start_lines, most_lines, mapping_count(), peak_kib());
  return 0;
}
