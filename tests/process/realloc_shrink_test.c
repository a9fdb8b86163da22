// Blocks that realloc makes much smaller give their memory back, in place or by moving, and keep their contents.
#include "support.h"

static long resident_after_shrink(size_t count, size_t from, size_t to) {
  unsigned char** const blocks = (unsigned char**)calloc(count, sizeof *blocks);
  REQUIRE(blocks != NULL);
  const long before = resident_kib();
  for (size_t i = 0; i < count; i++) {
    blocks[i] = (unsigned char*)malloc(from);
    REQUIRE(blocks[i] != NULL);
    memset(blocks[i], 1, from);
    fill(blocks[i], to, (unsigned)i);
  }
  REQUIRE(resident_kib() - before > (long)(count * from / KIB) * 3 / 4);
  for (size_t i = 0; i < count; i++) {
    blocks[i] = (unsigned char*)realloc(blocks[i], to);
    REQUIRE(blocks[i] != NULL && holds(blocks[i], to, (unsigned)i));
  }
  malloc_trim(0);
  const long after = resident_kib() - before;
  for (size_t i = 0; i < count; i++) {
    REQUIRE(holds(blocks[i], to, (unsigned)i));
    free(blocks[i]);
  }
  free(blocks);
  return after;
}

int main(void) {
  static const struct {
    size_t count, from, to;
  } cases[] = {{2000, 60000, 100}, {500, 250000, 100}, {500, 250000, 5000}, {40, 4000000, 100}, {40, 4000000, 70000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const long kib = resident_after_shrink(cases[i].count, cases[i].from, cases[i].to);
    const long allowed = (long)(cases[i].count * (cases[i].to + 2 * 4096) / KIB) + 16 * 1024;
    if (kib > allowed) {
      fail("%zu blocks from %zu to %zu bytes: %ld KiB stay resident, at most %ld expected", cases[i].count,
           cases[i].from, cases[i].to, kib, allowed);
    }
  }
  return 0;
}
