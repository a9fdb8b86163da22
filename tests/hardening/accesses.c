// Wrong accesses: outside of a block, to a freed one, to one of no bytes, and execution of one.
#include "cell.h"

enum { kReuses = 100, kZeroBlocks = 7 };

// Upwards if step is 1, downwards if it is -1.
static void store(unsigned char* first, size_t length, ptrdiff_t step) {
  volatile unsigned char* place = (volatile unsigned char*)hide(first);
  say("access");
  for (; length > 0; length--, place += step) *place = kIntruder;
  say("accessed");
}

static void set(unsigned char* first, size_t length) {
  void* const place = hide(first);
  say("access");
  memset(place, kIntruder, length);
  say("accessed");
}

static void overflow_by_store(void) { store(victim + cell_size, cell_length, 1); }
static void overflow_by_libc(void) { set(victim + cell_size, cell_length); }
static void underflow_by_store(void) { store(victim - 1, cell_length, -1); }
static void underflow_by_libc(void) { set(victim - cell_length, cell_length); }

// Another block is freed before, so that a list of free blocks has a link in the victim.
static void write_after_free(void) {
  drop(neighbours[kVictim - 8]);
  drop(victim);
  set(victim, cell_size);
}

static void write_after_reuse(void) {
  drop(victim);
  for (int i = 0; i < kReuses; i++) keep(malloc(cell_size), cell_size);
  set(victim, cell_size);
}

// Blocks of no bytes, from memory that has been used where the allocator is willing to use it again.
static void zero_size_blocks(volatile unsigned char** blocks) {
  for (int i = 0; i < kZeroBlocks; i++) drop(neighbours[kVictim + i]);
  for (int i = 0; i < kZeroBlocks; i++) blocks[i] = (volatile unsigned char*)keep(malloc(0), 0);
}

// A read changes nothing, but it must not show what was there before.
static void read_zero_size(void) {
  volatile unsigned char* blocks[kZeroBlocks];
  unsigned char seen = 0;
  zero_size_blocks(blocks);
  say("access");
  for (int i = 0; i < kZeroBlocks; i++) seen |= *blocks[i];
  say("accessed");
  if (seen != 0) fail("a block of no bytes shows what is not its own");
}

static void write_zero_size(void) {
  volatile unsigned char* blocks[kZeroBlocks];
  zero_size_blocks(blocks);
  say("access");
  for (int i = 0; i < kZeroBlocks; i++) *blocks[i] = kIntruder;
  say("accessed");
}

static void execute(void) {
  const unsigned char return_instruction = 0xc3;
  memset(victim, return_instruction, cell_size);
  void (*const code)(void) = (void (*)(void))(uintptr_t)hide(victim);
  say("access");
  code();
  say("accessed");
  fail("the block was executed");
}

static const struct Form forms[] = {
    {"overflow_1_store", overflow_by_store, 1, 1},
    {"overflow_1_libc", overflow_by_libc, 1, 1},
    {"overflow_32_store", overflow_by_store, 1, 32},
    {"overflow_32_libc", overflow_by_libc, 1, 32},
    {"overflow_1M_store", overflow_by_store, 1, 1 << 20},
    {"overflow_1M_libc", overflow_by_libc, 1, 1 << 20},
    {"underflow_1_store", underflow_by_store, 1, 1},
    {"underflow_1_libc", underflow_by_libc, 1, 1},
    {"underflow_32_store", underflow_by_store, 1, 32},
    {"underflow_32_libc", underflow_by_libc, 1, 32},
    {"underflow_1M_store", underflow_by_store, 1, 1 << 20},
    {"underflow_1M_libc", underflow_by_libc, 1, 1 << 20},
    {"write_after_free", write_after_free, 1},
    {"write_after_reuse", write_after_reuse, 1},
    {"read_zero_size", read_zero_size, 0},
    {"write_zero_size", write_zero_size, 0},
    {"execute", execute, 1},
};

int main(int count, char** arguments) { return cell_main(count, arguments, forms, sizeof forms / sizeof *forms); }
