// Stands for: a program that has done its great work, a compiler's server or a database after a large query for
// example, frees most of what it held, keeps the rest at random places, and waits.
//
// usage: over_time [mib=1024] [percent=90] [idle=15] [largest=16384]
//
// One thread builds `mib` of blocks from 16 bytes to `largest`, each doubling as often as any other, frees `percent` of
// them at random, and is idle; then it frees the others, at random too, and is idle again. In the idle seconds it calls
// no function of the allocator. The program's own books are mapped beside it, and resident from the start.
// Prints, in KiB: start_kib, built_kib, built_live_kib (the sizes asked for), then after the frees and the idle time
// resident_kib, lazy_kib (of these: free to the system but not yet taken), live_kib, floor_kib (whole pages that any
// live block touches: nothing can have less with these addresses), and in the end freed_kib at once and idle_kib after
// the idle time, both over the start; also resident_to_live, resident_to_floor and seconds without the idle time.
#include "bench.h"

static size_t mib = 1024, percent = 90, idle = 15, largest = 16384;
static void** blocks;
static unsigned* sizes;
static size_t count;

static unsigned doublings(void) {
  unsigned result = 1;
  while ((size_t)16 << result < largest) result++;
  return result;
}

// More blocks than will be needed: as if they had four fifths of their mean size.
static size_t most_blocks(void) {
  const size_t mean = 24 * (((size_t)1 << doublings()) - 1) / doublings();
  return mib * MIB / mean * 5 / 4 + 10000;
}

static size_t build(uint64_t* random, size_t most) {
  const unsigned steps = doublings();
  size_t bytes = 0;
  while (bytes < mib * MIB) {
    REQUIRE(count < most);
    const size_t size = random_doubling(random, 16, steps);
    sizes[count] = (unsigned)size;
    blocks[count++] = allocate_and_fill(size);
    bytes += size;
  }
  return bytes;
}

static void shuffle(uint64_t* random) {
  for (size_t i = count - 1; i > 0; i--) {
    const size_t other = next_random(random) % (i + 1);
    void* const block = blocks[i];
    blocks[i] = blocks[other];
    blocks[other] = block;
    const unsigned size = sizes[i];
    sizes[i] = sizes[other];
    sizes[other] = size;
  }
}

static size_t free_down_to(size_t rest) {
  size_t bytes = 0;
  while (count > rest) {
    bytes += sizes[--count];
    free(blocks[count]);
  }
  return bytes;
}

// The number of pages in which any live block has a byte: a hash table of page numbers, which is gone afterwards.
static size_t touched_pages(size_t live_bytes) {
  size_t slots = 1024;
  while (slots < 2 * (live_bytes / PAGE + 2 * count)) slots *= 2;
  uintptr_t* const table = map_memory(slots * sizeof(uintptr_t), MAP_NORESERVE);
  size_t pages = 0;
  for (size_t i = 0; i < count; i++) {
    const uintptr_t last = ((uintptr_t)blocks[i] + sizes[i] - 1) / PAGE;
    for (uintptr_t page = (uintptr_t)blocks[i] / PAGE; page <= last; page++) {
      uint64_t hash = page;
      size_t slot = next_random(&hash) & (slots - 1);
      while (table[slot] != 0 && table[slot] != page) slot = (slot + 1) & (slots - 1);
      pages += table[slot] == 0;
      table[slot] = page;
    }
  }
  munmap(table, slots * sizeof(uintptr_t));
  return pages;
}

int main(int argc, char** argv) {
  const struct argument arguments[] = {{"mib", &mib}, {"percent", &percent}, {"idle", &idle}, {"largest", &largest}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));
  if (mib < 1 || percent > 100 || largest < 32 || largest > MIB) {
    fail("mib: 1 at least; percent: 0 to 100; largest: 32 to %zu", MIB);
  }
  const size_t most = most_blocks();
  blocks = map_memory(most * sizeof *blocks, MAP_POPULATE);
  sizes = map_memory(most * sizeof *sizes, MAP_POPULATE);
  resident_kib();
  const long start = resident_kib();

  uint64_t random = 1;
  double started = seconds_now();
  size_t live = build(&random, most);
  const size_t built = live;
  double seconds = seconds_now() - started;
  const long resident_built = resident_kib();
  shuffle(&random);
  started = seconds_now();
  live -= free_down_to(count - count * percent / 100);
  seconds += seconds_now() - started;

  sleep_seconds((double)idle);
  const long resident = resident_kib();
  const long lazy = lazily_freed_kib();
  const size_t floor = touched_pages(live) * PAGE;

  started = seconds_now();
  free_down_to(0);
  seconds += seconds_now() - started;
  const long freed = resident_kib();
  sleep_seconds((double)idle);
  const long rested = resident_kib();

  const double held = (double)(resident - start) * 1024;
  report(
      "{\"start_kib\": %ld, \"built_kib\": %ld, \"built_live_kib\": %zu, \"resident_kib\": %ld, \"lazy_kib\": %ld, "
      "\"live_kib\": %zu, \"floor_kib\": %zu, \"resident_to_live\": %.3f, \"resident_to_floor\": %.3f, "
      "\"freed_kib\": %ld, \"idle_kib\": %ld, \"seconds\": %.3f}",
      start, resident_built - start, built / KIB, resident - start, lazy, live / KIB, floor / KIB,
      live > 0 ? held / (double)live : 0.0, floor > 0 ? held / (double)floor : 0.0, freed - start, rested - start,
      seconds);
  return 0;
}
