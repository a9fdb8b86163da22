// Address space runs out; every entry point then fails as it should, keeps what it had, and works again once memory has
// been freed. Several rounds must reach the same amount: nothing gets lost on the way.
#include "support.h"

enum { kMost = 400000, kRounds = 4 };

static void* blocks[kMost];

static size_t fill_up(size_t size) {
  size_t count = 0;
  errno = 0;
  while (count < kMost && (blocks[count] = malloc(size)) != NULL) {
    *(size_t*)blocks[count] = count;
    count++;
  }
  REQUIRE(count < kMost && errno == ENOMEM);
  return count;
}

static void release(size_t count, size_t start, size_t step) {
  for (size_t i = start; i < count; i += step) {
    if (blocks[i] == NULL) continue;
    REQUIRE(*(size_t*)blocks[i] == i);
    free(blocks[i]);
  }
}

// An aligned block has more room than it was asked for: without memory for another place it grows where it is.
static void grow_in_place(void) {
  void* const block = memalign(4096, 100);
  REQUIRE(block != NULL);
  const size_t count = fill_up(1000);
  unsigned char* const grown = (unsigned char*)realloc(block, 200);
  if (grown != NULL) memset(grown, 1, 200);
  release(count, 0, 1);
  free(grown == NULL ? block : grown);
}

int main(void) {
  const rlim_t now = (rlim_t)status_kib("VmSize") * KIB;
  const struct rlimit limit = {now + 300 * MIB, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  grow_in_place();
  static const size_t sizes[] = {1000, 9000, 100000, 1500000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    size_t first_count = 0;
    for (int round = 0; round < kRounds; round++) {
      void* const kept = malloc(1000);
      REQUIRE(kept != NULL);
      fill(kept, 1000, 6);
      const size_t count = fill_up(sizes[s]);
      expect_no_memory(32 * MIB, kept, 1000, 6);
      if (round == 0) first_count = count;
      if (count < first_count - first_count / 8) {
        fail("size %zu, round %d: %zu blocks after %zu before", sizes[s], round, count, first_count);
      }
      // Every other block is freed and comes back; then all are freed. A block may come back from another kind of
      // place, which costs a little more room: one in thirty may be missing.
      release(count, 0, 2);
      size_t missing = 0;
      for (size_t i = 0; i < count; i += 2) {
        blocks[i] = malloc(sizes[s]);
        if (blocks[i] == NULL) {
          missing++;
        } else {
          *(size_t*)blocks[i] = i;
        }
      }
      REQUIRE(missing * 30 <= count / 2);
      release(count, 0, 1);
      REQUIRE(holds(kept, 1000, 6));
      free(kept);
      malloc_trim(0);
      void* const large = malloc(150 * MIB);
      if (large == NULL) fail("size %zu, round %d: no large block after all has been freed", sizes[s], round);
      free(large);
    }
  }
  return 0;
}
