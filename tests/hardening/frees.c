// Wrong frees: a block that is free already, and addresses that are not the start of a block.
#include "cell.h"

enum { kMargin = 64, kLarger = 20 };

static pthread_barrier_t turn;

static void start(pthread_t* thread, void* (*body)(void*)) {
  if (pthread_create(thread, NULL, body, NULL) != 0) cannot("no thread");
}

static void join(pthread_t thread) {
  if (pthread_join(thread, NULL) != 0) cannot("no join");
}

static void twice_at_once(void) {
  drop(victim);
  wrong_free(victim);
}

static void twice_after_another(void) {
  drop(victim);
  drop(neighbours[kVictim + 8]);
  wrong_free(victim);
}

static void twice_after_many(void) {
  static unsigned char* others[1000];
  const int count = cell_size < kLarge ? 1000 : 100;
  for (int i = 0; i < count; i++) others[i] = keep(malloc(cell_size), cell_size);
  drop(victim);
  for (int i = 0; i < count; i++) drop(others[i]);
  wrong_free(victim);
}

// The thread exists before the first free, so that starting it cannot take the address; it allocates as long as it has
// what it freed to itself.
static void* free_at_turn(void* unused) {
  pthread_barrier_wait(&turn);
  wrong_free(victim);
  allocate_more(cell_size, 8);
  return unused;
}

static void twice_other_thread(void) {
  pthread_t thread;
  pthread_barrier_init(&turn, NULL, 2);
  start(&thread, free_at_turn);
  drop(victim);
  pthread_barrier_wait(&turn);
  join(thread);
}

// What is larger cannot be handed out in the place of the victim, which has live neighbours.
static void twice_after_larger(void) {
  const size_t size = 2 * cell_size;
  drop(victim);
  for (int i = 0; i < kLarger; i++) {
    unsigned char* const block = keep(malloc(size), size);
    if (overlap(block, size, victim, 1)) cannot("the address is in use again");
  }
  wrong_free(victim);
}

static void twice_moved(void) {
  size_t size = cell_size;
  unsigned char* block = (unsigned char*)forget(victim);
  while (block == victim && size < (1U << 28)) {
    size *= 2;
    block = (unsigned char*)realloc(block, size);
  }
  if (block == NULL || overlap(block, size, victim, 1)) cannot("realloc did not move the block");
  keep(block, size);
  wrong_free(victim);
}

// The smallest block that has an aligned address inside has 32 bytes.
static void interior_aligned(void) {
  const size_t size = cell_size < 32 ? 32 : cell_size;
  wrong_free(keep(malloc(size), size) + size / 2);
}

static void interior_misaligned(void) { wrong_free(victim + 1); }

// Before the lowest one there is no other block of ours, which could be freed legally.
static void before_block(void) {
  unsigned char* lowest = victim;
  for (int i = 0; i < kNeighbours; i++) {
    if (neighbours[i] < lowest) lowest = neighbours[i];
  }
  wrong_free(lowest - 16);
}

// Plays to the end by itself, as long as its frame is there.
static void on_stack(void) {
  const size_t size = cell_size + 2 * kMargin;
  unsigned char* const object = (unsigned char*)hide(__builtin_alloca_with_align(size, 128));
  wrong_free(keep_foreign(object, size) + kMargin);
  use_heap();
}

static void static_object(void) {
  static _Alignas(16) unsigned char object[262144 + 2 * kMargin];
  wrong_free(keep_foreign(object, cell_size + 2 * kMargin) + kMargin);
}

static void foreign_mapping(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t size = (cell_size + page - 1) / page * page;
  void* const mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) cannot("no mapping");
  wrong_free(keep_foreign(mapping, size));
}

static const struct Form forms[] = {
    {"double_free_at_once", twice_at_once, 1},
    {"double_free_after_another", twice_after_another, 1},
    {"double_free_after_many", twice_after_many, 1},
    {"double_free_other_thread", twice_other_thread, 1},
    {"double_free_moved", twice_moved, 1},
    {"double_free_after_larger", twice_after_larger, 1},
    {"free_interior_aligned", interior_aligned, 1},
    {"free_interior_misaligned", interior_misaligned, 1},
    {"free_before_block", before_block, 1},
    {"free_stack", on_stack, 1},
    {"free_static", static_object, 1},
    {"free_foreign_mapping", foreign_mapping, 1},
};

int main(int count, char** arguments) { return cell_main(count, arguments, forms, sizeof forms / sizeof *forms); }
