// Blocks of mixed sizes are freed in random order. With the last free the memory is back: the program makes no further
// call, as one that has gone idle.
#include "support.h"

enum { kBuiltMib = 192, kMost = 400000, kMostOverStartKib = 8 * 1024 };

// Beside the heap, and touched before anything is measured.
static void* blocks[kMost];
static unsigned sizes[kMost];

// From 16 bytes to 16 KiB, each doubling as often as any other.
static size_t random_size(uint64_t* random) {
  const size_t least = (size_t)16 << next_random(random) % 10;
  return least + next_random(random) % least;
}

static size_t build(uint64_t* random) {
  size_t count = 0;
  for (size_t bytes = 0; bytes < kBuiltMib * MIB; bytes += sizes[count++]) {
    REQUIRE(count < kMost);
    sizes[count] = (unsigned)random_size(random);
    blocks[count] = malloc(sizes[count]);
    REQUIRE(blocks[count] != NULL);
    memset(blocks[count], 1, sizes[count]);
  }
  for (size_t i = count - 1; i > 0; i--) {
    const size_t other = next_random(random) % (i + 1);
    void* const block = blocks[i];
    const unsigned size = sizes[i];
    blocks[i] = blocks[other];
    sizes[i] = sizes[other];
    blocks[other] = block;
    sizes[other] = size;
  }
  return count;
}

int main(void) {
  memset(blocks, 1, sizeof blocks);
  memset(sizes, 1, sizeof sizes);
  free(malloc(100));
  const long start = resident_kib();
  uint64_t random = 88172645463325252u;
  for (int round = 0; round < 2; round++) {
    const size_t count = build(&random);
    const size_t kept = count / 10;
    size_t live = 0;
    for (size_t i = 0; i < kept; i++) live += sizes[i];
    for (size_t i = kept; i < count; i++) free(blocks[i]);
    const long sparse = resident_kib() - start;
    const long live_kib = (long)(live / KIB);
    if (sparse > live_kib * 5 / 2 + kMostOverStartKib) fail("%ld KiB resident for %ld KiB live", sparse, live_kib);
    for (size_t i = 0; i < kept; i++) free(blocks[i]);
    const long end = resident_kib() - start;
    printf("round %d: %ld KiB for %ld KiB live, %ld KiB over the start in the end\n", round, sparse, live_kib, end);
    if (end > kMostOverStartKib) fail("%ld KiB over the start after all has been freed", end);
  }
  return 0;
}
