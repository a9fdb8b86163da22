// Eight threads hand their blocks over to each other through a table and free what they get, while main makes children,
// up to 200 a second and by every call there is. A child checks and frees what stands in the table, goes on with
// threads of its own and has children itself. Nothing hangs, nothing is lost.
//
// argument: for how many seconds; 2 by default
#include "support.h"

enum { kThreads = 8, kCells = 2000, kAtOnce = 3 };

typedef struct {
  size_t size;  // of the whole block
  unsigned tag;
  unsigned char bytes[];
} Block;

// A cell is changed in one step, so that each child finds a whole block in it, or null.
static Block* cells[kCells];
static int stop;
static const unsigned long no_end = ULONG_MAX;

static size_t random_size(uint64_t value) {
  if (value % 256 == 0) return sizeof(Block) + (value >> 8) % 400000;
  return sizeof(Block) + (value >> 8) % (value % 16 == 0 ? 30000 : 1500);
}

static int is_right(const Block* block) { return holds(block->bytes, block->size - sizeof(Block), block->tag); }

static void fill_block(Block* block, size_t size, unsigned tag) {
  block->size = size;
  block->tag = tag;
  fill(block->bytes, size - sizeof(Block), tag);
}

static Block* make_block(uint64_t value) {
  const size_t size = random_size(value);
  Block* const block = (Block*)malloc(size);
  REQUIRE(block != NULL);
  fill_block(block, size, (unsigned)(value >> 32));
  return block;
}

static void free_block(Block* block) {
  if (block == NULL) return;
  if (!is_right(block)) fail("a wrong byte in a block of %zu", block->size);
  free(block);
}

static void put(size_t cell, Block* block) { free_block(__atomic_exchange_n(&cells[cell], block, __ATOMIC_ACQ_REL)); }

static void hand_over(uint64_t random, unsigned long steps) {
  for (unsigned long i = 0; i < steps && !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    const uint64_t value = next_random(&random);
    put((value >> 40) % kCells, i % 64 == 0 ? NULL : make_block(value));
    if (value % 20000 == 0) malloc_trim(0);
  }
}

static void* churn(void* argument) {
  hand_over((uintptr_t)argument, no_end);
  return NULL;
}

static void* churn_a_little(void* argument) {
  hand_over((uintptr_t)argument, 200);
  return NULL;
}

static void check_all(void) {
  for (size_t i = 0; i < kCells; i++) {
    if (cells[i] != NULL && !is_right(cells[i])) fail("a wrong byte in a child's block of %zu", cells[i]->size);
  }
}

// A third of what all threads had is freed, another third resized.
static void use_table(uint64_t random) {
  for (size_t i = random % 3; i < kCells; i += 3) {
    put(i, i % 2 == 0 ? NULL : make_block(next_random(&random)));
    Block* const block = cells[(i + 1) % kCells];
    if (block == NULL || i % 4 != 0) continue;
    const size_t size = block->size * 2;
    Block* const moved = (Block*)realloc(block, size);
    REQUIRE(moved != NULL && is_right(moved));
    fill_block(moved, size, moved->tag);
    cells[(i + 1) % kCells] = moved;
  }
}

static void wait_for_right_end(pid_t child, const char* how) {
  const int status = wait_for(child, 25);
  if (status != 0) fail("%s: the child ended with status 0x%x", how, (unsigned)status);
}

static void be_child(uint64_t random, int generations) {
  stop = 0;
  check_all();
  use_table(random);
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++) start_thread(&threads[i], churn_a_little, (void*)(uintptr_t)(random + i));
  if (generations > 0) {
    const pid_t child = fork();  // while the child's own threads are at work
    REQUIRE(child >= 0);
    if (child == 0) {
      be_child(random + 1, generations - 1);
      _exit(0);
    }
    wait_for_right_end(child, "a child of a child");
  }
  for (int i = 0; i < 3; i++) join_thread(threads[i]);
  if (random % 4 == 0) malloc_trim(0);
  check_all();
}

static char* const true_arguments[] = {(char*)"true", NULL};

static pid_t make_child(unsigned number) {
  pid_t child;
  if (number % 16 == 3) {
    child = vfork();
    if (child == 0) {
      execv("/bin/true", true_arguments);
      _exit(9);
    }
    return child;
  }
  if (number % 16 == 7) {
    REQUIRE(posix_spawn(&child, "/bin/true", NULL, NULL, true_arguments, environ) == 0);
    return child;
  }
  const int is_raw = number % 4 == 1;
  child = is_raw ? raw_fork() : fork();
  if (child != 0) return child;
  if (is_raw) {  // libc's threads do not work in there
    check_all();
    use_table(number);
  } else {
    be_child(number, number % 8 == 0 ? 2 : 0);
  }
  _exit(0);
}

int main(int count, char** arguments) {
  const double end = seconds_now() + run_time(count, arguments, 2);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++) start_thread(&threads[i], churn, (void*)i);
  pid_t children[kAtOnce] = {0};
  for (unsigned i = 0; seconds_now() < end; i++) {
    pid_t* const child = &children[i % kAtOnce];
    if (*child != 0) wait_for_right_end(*child, "a child");
    *child = make_child(i);
    REQUIRE(*child > 0);
    sleep_milliseconds(5);
  }
  for (int i = 0; i < kAtOnce; i++) {
    if (children[i] != 0) wait_for_right_end(children[i], "a child");
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kThreads; i++) join_thread(threads[i]);
  for (size_t i = 0; i < kCells; i++) put(i, NULL);
  return 0;
}
