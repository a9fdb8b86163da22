// What the allocator itself hands out: addresses just freed, old contents, and answers to sizes that cannot be.
#include "cell.h"

enum { kReuses = 8, kFreed = 16, kLookedAt = 100 };

static const uint64_t kSecret = 0x73656372657421a5;

static void not_victim(unsigned char* block, size_t size) {
  if (block != NULL && overlap(block, size, victim, 1)) fail("the address came back");
  keep(block, size);
}

static void reuse_by_malloc(void) {
  drop(victim);
  for (int i = 0; i < kReuses; i++) not_victim((unsigned char*)malloc(cell_size), cell_size);
}

// By turns, a smaller block grows and a null pointer becomes a block.
static void reuse_by_realloc(void) {
  unsigned char* smaller[kReuses];
  for (int i = 0; i < kReuses; i++) smaller[i] = i % 2 == 0 ? keep(malloc(cell_size / 4), cell_size / 4) : NULL;
  drop(victim);
  for (int i = 0; i < kReuses; i++) {
    if (smaller[i] != NULL) forget(smaller[i]);
    not_victim((unsigned char*)realloc(hide(smaller[i]), cell_size), cell_size);
  }
}

static void write_secret(unsigned char* block) {
  for (size_t at = 0; at < cell_size; at += sizeof kSecret) memcpy(block + at, &kSecret, sizeof kSecret);
}

static int shows_secret(const unsigned char* block) {
  const volatile uint64_t* const words = (const volatile uint64_t*)block;
  for (size_t i = 0; i < cell_size / sizeof kSecret; i++) {
    if (words[i] == kSecret) return 1;
  }
  return 0;
}

static void contents_after_free(void) {
  write_secret(victim);
  drop(victim);
  say("access");
  const int shown = shows_secret((unsigned char*)hide(victim));
  say("accessed");
  if (shown) fail("a freed block shows what was in it");
}

static void contents_at_malloc(void) {
  for (int i = 0; i < kFreed; i++) {
    write_secret(neighbours[2 * i]);
    drop(neighbours[2 * i]);
  }
  for (int i = 0; i < kLookedAt; i++) {
    unsigned char* const block = (unsigned char*)malloc(cell_size);
    if (block != NULL && shows_secret(block)) fail("a new block shows what was in a freed one");
    keep(block, cell_size);
  }
}

static void expect_refusal(void* block) {
  if (block != NULL) fail("an impossible size was granted");
  if (errno != ENOMEM) fail("errno is not ENOMEM");
}

// The product with 16 wraps around to 16.
static const size_t kTooMany = SIZE_MAX / 16 + 2;

static void malloc_max(void) { expect_refusal(malloc(hide_size(SIZE_MAX))); }
static void malloc_half(void) { expect_refusal(malloc(hide_size((size_t)PTRDIFF_MAX + 1))); }
static void calloc_product(void) { expect_refusal(calloc(hide_size(kTooMany), 16)); }
static void reallocarray_product(void) { expect_refusal(reallocarray(hide(victim), hide_size(kTooMany), 16)); }
static void realloc_max(void) { expect_refusal(realloc(hide(victim), hide_size(SIZE_MAX))); }
static void aligned_alloc_max(void) { expect_refusal(aligned_alloc(64, hide_size(SIZE_MAX - 10))); }

static const struct Form forms[] = {
    {"reuse_by_malloc", reuse_by_malloc, 1},
    {"reuse_by_realloc", reuse_by_realloc, 1},
    {"contents_after_free", contents_after_free, 1},
    {"contents_at_malloc", contents_at_malloc, 1},
    {"malloc_max", malloc_max, 0},
    {"malloc_half", malloc_half, 0},
    {"calloc_product", calloc_product, 0},
    {"reallocarray_product", reallocarray_product, 0},
    {"realloc_max", realloc_max, 0},
    {"aligned_alloc_max", aligned_alloc_max, 0},
};

int main(int count, char** arguments) { return cell_main(count, arguments, forms, sizeof forms / sizeof *forms); }
