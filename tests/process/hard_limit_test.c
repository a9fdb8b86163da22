// Under a hard limit every kind of request fails with ENOMEM when the limit is reached; what is there can be written;
// the reserve serves small requests then; freed memory is there for the next.
#include "support.h"

enum { kMost = 100000 };

static unsigned char* blocks[kMost];

// The bytes that could be had in blocks of `size`.
static size_t take_all(size_t size) {
  size_t count = 0;
  errno = 0;
  while (count < kMost && (blocks[count] = (unsigned char*)malloc(size)) != NULL) memset(blocks[count++], 1, size);
  REQUIRE(count < kMost && errno == ENOMEM);
  return count * size;
}

static void free_all(void) {
  for (int i = 0; i < kMost && blocks[i] != NULL; i++) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

int main(void) {
  static const size_t kSizes[] = {1000, 5000, 30000, 100000, 1000000, 5000000};
  run_with_options("hard_limit=64M:limit_reserve=2M");
  for (size_t round = 0; round < 12; round++) {
    const size_t size = kSizes[round % 6];
    const size_t bytes = take_all(size);
    if (bytes > 64 * MIB || bytes < 50 * MIB) fail("%zu MiB in blocks of %zu", bytes / MIB, size);
    REQUIRE(calloc(1, 60 * MIB) == NULL && errno == ENOMEM);
    void* const small = malloc(100);
    REQUIRE(small != NULL);
    free(small);
    free_all();
  }
  const long peak = status_kib("VmHWM");
  if (peak > 80 * 1024) fail("the peak was %ld KiB", peak);
  return 0;
}
