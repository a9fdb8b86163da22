// The process has as many mappings as the kernel allows (vm.max_map_count). Every function then works or fails as it
// should, what is freed is not lost, and what was allocated before stays whole. Once there is room for mappings again,
// everything works again, and memory goes back.
#include "support.h"

enum { kBlocks = 1200, kMostFillers = 300000, kRounds = 3, kMostAtLimit = 400, kSmallSizes = 7 };

// Most of them, the first kSmallSizes, are small.
static const size_t sizes[] = {24, 100, 600, 600, 3000, 3000, 12000, 40000, 100000, 1200000, 1200000};
static const size_t larger_sizes[] = {10, 200, 5000, 33000, 90000, 200000, 1 * MIB, 5 * MIB, 40 * MIB, 70 * MIB};

struct Block {
  unsigned char* bytes;
  size_t size;
};

// As much of a block as is written.
static size_t written(size_t size) { return size < 100000 ? size : 100000; }

static struct Block blocks[kBlocks];
static struct Block at_limit[kMostAtLimit];
static uint64_t random_state = 5;

// --- filling up
// -------------------------------------------------------------------------------------------------------

static char* filler;
static size_t filler_bytes;
static char* fillers[64];
static int filler_count;

static long most_mappings(void) {
  char text[32] = "";
  const int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
  close(fd);
  return strtol(text, NULL, 10);
}

// Every other page of one mapping gets another protection, which makes each page a mapping of its own. The few that
// are missing then are single pages, each with another protection than the one before.
static void use_up_mappings(long most) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  filler_bytes = ((size_t)most + 10) * page;
  filler = (char*)mmap(NULL, filler_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(filler != MAP_FAILED);
  size_t at = page;
  while (at < filler_bytes && mprotect(filler + at, page, PROT_READ) == 0) at += 2 * page;
  REQUIRE(at < filler_bytes && errno == ENOMEM);
  for (filler_count = 0; filler_count < 64; filler_count++) {
    char* const single =
        (char*)mmap(NULL, page, filler_count % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (single == MAP_FAILED) break;
    fillers[filler_count] = single;
  }
  REQUIRE(filler_count < 64 && errno == ENOMEM);
}

static void give_mappings_back(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  REQUIRE(munmap(filler, filler_bytes) == 0);
  for (int i = 0; i < filler_count; i++) REQUIRE(munmap(fillers[i], page) == 0);
}

// --- blocks
// -----------------------------------------------------------------------------------------------------------

static void take(int index) {
  struct Block* const block = &blocks[index];
  block->bytes = (unsigned char*)malloc(block->size);
  if (block->bytes == NULL) fail("no block of %zu bytes (errno %d)", block->size, errno);
  fill(block->bytes, written(block->size), (unsigned)index);
}

static void allocate(int index) {
  blocks[index].size = sizes[next_random(&random_state) % (sizeof sizes / sizeof *sizes)];
  take(index);
}

static void release(int index) {
  struct Block* const block = &blocks[index];
  if (block->bytes == NULL) return;
  REQUIRE(holds(block->bytes, written(block->size), (unsigned)index));
  free(block->bytes);
  block->bytes = NULL;
}

// Each in another way.
static void* allocate_somehow(unsigned way, size_t size) {
  void* result = NULL;
  errno = 0;
  switch (way % 8) {
    case 0:
      return malloc(size);
    case 1:
      return calloc(size, 1);
    case 2:
      return realloc(NULL, size);
    case 3:
      return aligned_alloc(64, (size + 63) & ~(size_t)63);
    case 4:
      return memalign(1024, size);
    case 5:
      return valloc(size);
    case 6:
      return reallocarray(NULL, size, 1);
    default:
      errno = posix_memalign(&result, 256 * KIB, size);
      return result;
  }
}

static void check_new(const char* bytes, size_t size, unsigned way) {
  if (bytes == NULL) {
    if (errno != ENOMEM) fail("way %u, %zu bytes: null, but errno is %d", way % 8, size, errno);
    return;
  }
  if (way % 8 == 1) {
    for (size_t i = 0; i < size; i += 512) REQUIRE(bytes[i] == 0);
  }
  REQUIRE(malloc_usable_size(hide((void*)bytes)) >= size);
}

// --- at the limit
// -----------------------------------------------------------------------------------------------------

static int allocate_at_limit(void) {
  int got = 0;
  for (unsigned i = 0; i < kMostAtLimit; i++) {
    const size_t size = larger_sizes[i / 8 % (sizeof larger_sizes / sizeof *larger_sizes)];
    struct Block* const block = &at_limit[i];
    block->size = size;
    block->bytes = (unsigned char*)allocate_somehow(i, size);
    check_new((const char*)block->bytes, size, i);
    if (block->bytes != NULL) {
      got++;
      fill(block->bytes, written(size), i);
    }
  }
  return got;
}

static void resize_at_limit(void) {
  for (unsigned i = 0; i < kMostAtLimit; i++) {
    struct Block* const block = &at_limit[i];
    if (block->bytes == NULL) continue;
    const size_t kept = written(block->size);
    const size_t size = i % 3 == 0 ? block->size * 2 : block->size / 2 + 1;
    errno = 0;
    unsigned char* const moved = (unsigned char*)realloc(block->bytes, size);
    if (moved == NULL) {
      REQUIRE(errno == ENOMEM);
      REQUIRE(holds(block->bytes, kept, i));
    } else {
      REQUIRE(holds(moved, kept < size ? kept : size, i));
      *block = (struct Block){moved, size};
    }
  }
}

static void release_at_limit(void) {
  for (unsigned i = 0; i < kMostAtLimit; i++) free(at_limit[i].bytes);
}

// A thread that was there before, and calls for the first time now: it gets what another one has freed.
static int limit_reached;

static void* first_calls(void* argument) {
  while (!__atomic_load_n(&limit_reached, __ATOMIC_ACQUIRE)) sleep_milliseconds(1);
  for (unsigned i = 0; i < 200; i++) {
    const size_t size = sizes[i % kSmallSizes];
    char* const block = (char*)allocate_somehow(i % 3, size);
    check_new(block, size, i % 3);
    if (block == NULL) fail("a new thread gets no %zu bytes, of which many are free", size);
    memset(block, 1, size);
    free(block);
  }
  return argument;
}

static void round_at_limit(long most) {
  pthread_t thread;
  limit_reached = 0;
  start_thread(&thread, first_calls, NULL);
  for (int i = 0; i < kBlocks; i++) allocate(i);
  use_up_mappings(most);

  for (int i = 0; i < kBlocks; i += 2) release(i);
  malloc_trim(0);
  __atomic_store_n(&limit_reached, 1, __ATOMIC_RELEASE);
  join_thread(thread);
  // What has been freed is there for the taking.
  for (int i = 0; i < kBlocks; i += 2) {
    if (blocks[i].size <= sizes[kSmallSizes - 1]) take(i);
  }
  const int got = allocate_at_limit();
  if (got < 40) fail("only %d of %d blocks could be allocated at the limit", got, kMostAtLimit);
  resize_at_limit();
  release_at_limit();
  malloc_trim(0);

  give_mappings_back();
  for (int i = 0; i < kBlocks; i++) {
    if (blocks[i].bytes == NULL) allocate(i);
  }
  void* const large = malloc(100 * MIB);
  REQUIRE(large != NULL);
  memset(large, 1, 100 * MIB);
  free(large);
  for (int i = 0; i < kBlocks; i++) release(i);
  malloc_trim(0);
}

// A heap may come or go from one round to the next: that much is not counted as lost.
static void rounds_at_limit(const char* what, long most, long resident) {
  long mappings = 0, address_space = 0;
  for (int round = 0; round < kRounds; round++) {
    round_at_limit(most);
    const long more = resident_kib() - resident;
    if (more > 16 * 1024) fail("%s, round %d: %ld KiB stay resident", what, round, more);
    if (round < 2) {
      mappings = mapping_count();
      address_space = status_kib("VmSize");
    }
  }
  const long mappings_lost = mapping_count() - mappings;
  if (mappings_lost > 20) fail("%s: %ld mappings are lost", what, mappings_lost);
  const long lost = status_kib("VmSize") - address_space;
  if (lost > 80 * 1024) fail("%s: %ld KiB of address space are lost", what, lost);
}

int main(void) {
  const long most = most_mappings();
  if (most > kMostFillers) return 0;  // more than a test should make
  const long resident = resident_kib();
  rounds_at_limit("heaps", most, resident);
  REQUIRE(mallopt(M_MMAP_THRESHOLD, 200 * 1024) == 1);
  rounds_at_limit("large mappings", most, resident);
  return 0;
}
