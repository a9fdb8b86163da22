// Sixteen threads call all functions that allocate until the address space is used up and each of them fails, free all,
// and begin again. Every second time a thread frees what another has got. Every block is aligned, writable, and zero
// where it has to be; every refusal says ENOMEM; each round gets about as much as the first.
//
// argument: for how many seconds; at least three rounds, which is the default
#include <cstddef>
#include <cstdint>
#include <new>

#include "support.h"

namespace {

constexpr int kThreads = 16;
constexpr unsigned kRounds = 3;
constexpr std::size_t kRoom = 192 * MIB;
constexpr std::size_t kAlignment = alignof(std::max_align_t);
constexpr std::size_t kSizes[] = {3000000, 300000, 40000, 9000, 1500, 300, 70};  // the most at a time, in this order
constexpr std::size_t kText = kSizes[0];

enum class GivenBy : unsigned char { kFree, kDelete, kDeleteArray, kAlignedDelete };

// The blocks of a thread are linked through themselves.
struct Block {
  Block* next;
  std::size_t size;
  GivenBy given_by;
  unsigned char bytes[];
};

struct Taken {
  void* block;
  std::size_t alignment = kAlignment;
  GivenBy given_by = GivenBy::kFree;
  bool is_zero = false;
};

char text[kText];
pthread_barrier_t barrier;
Block* lists[kThreads];
unsigned round_number = 0;
std::size_t taken_bytes;
bool stop = false;

void check_refusal(const char* name) {
  if (errno != ENOMEM) fail("%s: errno %d in place of ENOMEM", name, errno);
}

// Resizes a block of another size, which stays as it is when that fails.
Taken take_by_realloc(std::size_t size, bool as_array) {
  constexpr std::size_t kOld = 100;
  void* const old = malloc(kOld);
  if (old == nullptr) return {nullptr};
  fill(old, kOld, 3);
  void* const block = as_array ? reallocarray(old, (size + 9) / 10, 10) : realloc(old, size);
  REQUIRE(holds(block == nullptr ? old : block, size < kOld && block != nullptr ? size : kOld, 3));
  if (block == nullptr) {
    check_refusal("realloc");
    free(old);
    errno = ENOMEM;
  }
  return {block};
}

Taken take_by_posix_memalign(std::size_t size, std::size_t alignment) {
  void* block = &text;
  const int error = posix_memalign(&block, alignment, size);
  if (error == 0) return {block, alignment};
  REQUIRE(error == ENOMEM && block == &text);
  errno = ENOMEM;
  return {nullptr};
}

template <typename New>
Taken take_by_new(GivenBy given_by, std::size_t alignment, New take) {
  try {
    return {take(), alignment, given_by};
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return {nullptr};
  }
}

constexpr unsigned kFunctions = 15;

Taken take(unsigned function, std::size_t size, std::size_t alignment) {
  const std::size_t page = 4096;
  switch (function) {
    case 0:
      return {malloc(size)};
    case 1:
      return {calloc((size + 2) / 3, 3), kAlignment, GivenBy::kFree, /*is_zero=*/true};
    case 2:
      return take_by_realloc(size, /*as_array=*/false);
    case 3:
      return take_by_realloc(size, /*as_array=*/true);
    case 4:
      return {memalign(alignment, size), alignment};
    case 5:
      return {aligned_alloc(alignment, size), alignment};
    case 6:
      return take_by_posix_memalign(size, alignment);
    case 7:
      return {valloc(size), page};
    case 8:
      return {pvalloc(size), page};
    case 9:
      return {strdup(text + kText - size)};
    case 10:
      return take_by_new(GivenBy::kDelete, kAlignment, [&] { return operator new(size); });
    case 11:
      return take_by_new(GivenBy::kDeleteArray, kAlignment, [&] { return operator new[](size); });
    case 12:
      return take_by_new(GivenBy::kAlignedDelete, 512, [&] { return operator new (size, std::align_val_t{512}); });
    case 13:
      return {operator new(size, std::nothrow), kAlignment, GivenBy::kDelete};
    default:
      return {operator new[](size, std::nothrow), kAlignment, GivenBy::kDeleteArray};
  }
}

bool is_zero(const void* block, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Of a large block only the ends: the memory in between is the system's affair.
std::size_t checked(std::size_t size) { return size < 8192 ? size : 4096; }

void fill_ends(Block* block) {
  const std::size_t size = block->size - sizeof(Block);
  fill(block->bytes, checked(size), static_cast<unsigned>(size));
  block->bytes[size - 1] = 0x5a;
}

void give(Block* block) {
  const std::size_t size = block->size - sizeof(Block);
  REQUIRE(block->bytes[size - 1] == 0x5a);
  block->bytes[size - 1] = pattern_byte(size - 1, static_cast<unsigned>(size));
  REQUIRE(holds(block->bytes, checked(size), static_cast<unsigned>(size)));
  switch (block->given_by) {
    case GivenBy::kFree:
      return free(block);
    case GivenBy::kDelete:
      return operator delete(block);
    case GivenBy::kDeleteArray:
      return operator delete[](block);
    case GivenBy::kAlignedDelete:
      return operator delete (block, std::align_val_t{512});
  }
}

// Until no function has anything left for blocks of this size.
void take_all(std::size_t most, std::uint64_t* random, Block** list) {
  for (unsigned refused = 0, function = 0; refused < kFunctions; function = (function + 1) % kFunctions) {
    const std::uint64_t value = next_random(random);
    const std::size_t size = most - value % (most / 4);
    const std::size_t alignment = std::size_t{16} << (value >> 32) % 9;
    errno = 0;
    const Taken taken = take(function, size, alignment);
    if (taken.block == nullptr) {
      if (errno != ENOMEM) fail("function %u, %zu bytes: errno %d in place of ENOMEM", function, size, errno);
      ++refused;
      continue;
    }
    refused = 0;
    REQUIRE(reinterpret_cast<std::uintptr_t>(taken.block) % taken.alignment == 0);
    if (taken.is_zero) REQUIRE(is_zero(taken.block, size));
    auto* const block = static_cast<Block*>(taken.block);
    *block = {*list, size, taken.given_by};
    fill_ends(block);
    *list = block;
    __atomic_add_fetch(&taken_bytes, size, __ATOMIC_RELAXED);
  }
}

void* body(void* argument) {
  const auto thread = reinterpret_cast<std::uintptr_t>(argument);
  std::uint64_t random = thread;
  for (;;) {
    pthread_barrier_wait(&barrier);
    if (stop) return nullptr;
    for (const std::size_t size : kSizes) take_all(size, &random, &lists[thread]);
    pthread_barrier_wait(&barrier);
    Block** const list = &lists[thread ^ (round_number % 2)];
    while (*list != nullptr) {
      Block* const block = *list;
      *list = block->next;
      give(block);
    }
    pthread_barrier_wait(&barrier);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const double end = seconds_now() + run_time(count, arguments, 0);
  memset(text, 'x', kText - 1);
  pthread_barrier_init(&barrier, nullptr, kThreads + 1);
  pthread_t threads[kThreads];
  for (std::uintptr_t i = 0; i < kThreads; ++i) start_thread(&threads[i], body, reinterpret_cast<void*>(i));
  const rlim_t now = static_cast<rlim_t>(status_kib("VmSize")) * KIB;
  const rlimit limit = {now + kRoom, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  std::size_t first = 0;
  for (; round_number < kRounds || seconds_now() < end; ++round_number) {
    taken_bytes = 0;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    if (round_number == 0) first = taken_bytes;
    if (taken_bytes < first - first / 8) {
      fail("round %u: %zu KiB after %zu before", round_number, taken_bytes / KIB, first / KIB);
    }
    pthread_barrier_wait(&barrier);
  }
  stop = true;
  pthread_barrier_wait(&barrier);
  for (const pthread_t thread : threads) join_thread(thread);
  return 0;
}
