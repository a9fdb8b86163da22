// Thousands of live blocks from 16 KiB to 512 KiB, replaced at random, need far fewer mappings than there are blocks:
// the kernel allows 65530 of them for a process.
#include "support.h"

enum { kBlocks = 3000, kSteps = 25000, kMostMappings = 1000 };

static unsigned char* blocks[kBlocks];

int main(void) {
  uint64_t random = 3;
  long most = 0;
  const double end = seconds_now() + 20;
  for (int step = 0; step < kSteps && seconds_now() < end; step++) {
    const size_t index = step < kBlocks ? (size_t)step : next_random(&random) % kBlocks;
    free(blocks[index]);
    const size_t size = 16 * KIB + next_random(&random) % (496 * KIB);
    blocks[index] = (unsigned char*)malloc(size);
    REQUIRE(blocks[index] != NULL);
    blocks[index][0] = blocks[index][size - 1] = 1;
    if (step % 1000 == 999) {
      const long now = mapping_count();
      if (now > most) most = now;
    }
  }
  if (most > kMostMappings) fail("%ld mappings for %d live blocks", most, kBlocks);
  for (int i = 0; i < kBlocks; i++) free(blocks[i]);
  malloc_trim(0);
  const long left = mapping_count();
  if (left > 200) fail("%ld mappings are left when everything has been freed", left);
  return 0;
}
