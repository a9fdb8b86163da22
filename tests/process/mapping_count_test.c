// Thousands of live blocks, replaced at random, need far fewer mappings than there are blocks: the kernel allows 65530
// of them for a process. malloc_trim does not add to them, neither every few steps nor where it gives back what is free
// among live blocks.
#include "support.h"

enum { kMostBlocks = 3000, kSmallBlocks = 100000, kSmallSize = 600, kMostLeft = 200 };

struct Traffic {
  int blocks;
  int steps;
  int steps_per_trim;  // 0: no trims
  size_t least, most;  // bytes of a block
  long most_mappings;
};

static const struct Traffic without_trims = {3000, 25000, 0, 16 * KIB, 512 * KIB, 1000};
static const struct Traffic with_trims = {500, 20000, 4, 16 * KIB, 2 * MIB, 300};

static unsigned char* blocks[kMostBlocks];
static unsigned char* small_blocks[kSmallBlocks];
static uint64_t random_state = 3;

static void check_left(const char* when) {
  malloc_trim(0);
  const long left = mapping_count();
  if (left > kMostLeft) fail("%s: %ld mappings are left when everything has been freed", when, left);
}

static void replace_at_random(const struct Traffic* traffic, const char* what) {
  long most = 0;
  const double end = seconds_now() + 8;
  for (int step = 0; step < traffic->steps && seconds_now() < end; step++) {
    const size_t index = step < traffic->blocks ? (size_t)step : next_random(&random_state) % (size_t)traffic->blocks;
    free(blocks[index]);
    const size_t size = traffic->least + next_random(&random_state) % (traffic->most - traffic->least);
    blocks[index] = (unsigned char*)malloc(size);
    REQUIRE(blocks[index] != NULL);
    blocks[index][0] = blocks[index][size - 1] = 1;
    if (traffic->steps_per_trim != 0 && step % traffic->steps_per_trim == 0) malloc_trim(0);
    if (step % 250 == 249) {
      const long now = mapping_count();
      if (now > most) most = now;
    }
  }
  // Hardened, large mappings that wait stand between others.
  const long allowed = traffic->most_mappings + (is_hardened() ? traffic->blocks : 0);
  if (most > allowed) fail("%s: %ld mappings for %d live blocks", what, most, traffic->blocks);
  for (int i = 0; i < traffic->blocks; i++) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
  check_left(what);
}

// One block of sixteen stays, so that free pages lie everywhere among the used ones.
static void trim_among_live_blocks(void) {
  for (int i = 0; i < kSmallBlocks; i++) {
    small_blocks[i] = (unsigned char*)malloc(kSmallSize);
    REQUIRE(small_blocks[i] != NULL);
    memset(small_blocks[i], 1, kSmallSize);
  }
  const long mappings = mapping_count();
  const long resident = resident_kib();
  for (int i = 0; i < kSmallBlocks; i++) {
    if (next_random(&random_state) % 16 == 0) continue;
    free(small_blocks[i]);
    small_blocks[i] = NULL;
  }
  malloc_trim(0);
  const long given_back = resident - resident_kib();
  if (given_back < kSmallBlocks * kSmallSize / 1024 / 4)
    fail("only %ld KiB of small blocks were given back", given_back);
  const long more = mapping_count() - mappings;
  if (more > 50) fail("trimming among live blocks made %ld mappings more", more);
  for (int i = 0; i < kSmallBlocks; i++) free(small_blocks[i]);
  check_left("small blocks");
}

int main(void) {
  replace_at_random(&without_trims, "without trims");
  replace_at_random(&with_trims, "with trims");
  trim_among_live_blocks();
  return 0;
}
