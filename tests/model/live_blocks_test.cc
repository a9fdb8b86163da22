// A randomised model of the heap: it knows every live block, its size, its alignment and the pattern in it.
//
// Each block is checked when it is born (alignment, usable size, zero for calloc, no overlap with any other live block)
// and before each realloc and free (its contents). Blocks are handed from thread to thread through a table, and threads
// end and are followed by new ones that take their blocks over. The books are kept in mappings of their own, never in
// the heap under test.
//
// Arguments: --seconds N (for each of the two parts), --seed S, --threads T (only one part, with T threads).
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

// Not every compiler declares the sized ones by itself.
void operator delete(void*, std::size_t) noexcept;
void operator delete[](void*, std::size_t) noexcept;
void operator delete(void*, std::size_t, std::align_val_t) noexcept;

namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;
constexpr std::size_t kMinAlignment = 16;
constexpr unsigned kMostThreads = 64;
constexpr unsigned kBlocksPerThread = 6000;
constexpr unsigned kExchangeCells = 512;
constexpr std::size_t kMostLiveBytes = 400 * kMib;
constexpr unsigned kAddressBits = 47;

std::uint64_t seed = 1;

[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char line[500];
  const int length =
      std::snprintf(line, sizeof line, "%s (again: --seed %llu)\n", text, static_cast<unsigned long long>(seed));
  if (write(2, line, static_cast<std::size_t>(length)) < 0) _exit(2);
  _exit(1);
}

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t start) : state_(start) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

void* map_memory(std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the model itself: errno %d", errno);
  return memory;
}

// One bit for each 16 bytes of address space says whether a live block owns them. Setting a bit that is set already
// means that two live blocks overlap; this needs no lock, so it does not put the threads in line.
class OwnedMap {
 public:
  void start() {
    words_ = static_cast<std::atomic<std::uint64_t>*>(map_memory(std::size_t{1} << (kAddressBits - 4 - 3)));
  }

  void claim(const void* block, std::size_t size) {
    for_each_word(block, size, [&](std::atomic<std::uint64_t>& word, std::uint64_t bits) {
      if ((word.fetch_or(bits, std::memory_order_relaxed) & bits) != 0) {
        fail("block %p of %zu bytes overlaps a live block", block, size);
      }
    });
  }

  void release(const void* block, std::size_t size) {
    for_each_word(block, size, [&](std::atomic<std::uint64_t>& word, std::uint64_t bits) {
      if ((word.fetch_and(~bits, std::memory_order_relaxed) & bits) != bits) {
        fail("the model lost track of block %p of %zu bytes", block, size);
      }
    });
  }

 private:
  template <typename Visit>
  void for_each_word(const void* block, std::size_t size, Visit visit) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    if (address + size > std::uintptr_t{1} << kAddressBits) fail("block %p is out of the address space", block);
    const std::uintptr_t end = (address + (size == 0 ? 1 : size) + 15) / 16;
    for (std::uintptr_t granule = address / 16; granule < end;) {
      const std::uintptr_t next = granule / 64 * 64 + 64 < end ? granule / 64 * 64 + 64 : end;
      const std::uint64_t count = next - granule;
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      visit(words_[granule / 64], ones << granule % 64);
      granule = next;
    }
  }

  std::atomic<std::uint64_t>* words_ = nullptr;
};

// How a block may be freed depends on how it came about.
enum class Origin { kMalloc, kAligned, kNew, kNewArray, kNewAligned };

struct Block {
  unsigned char* address;
  std::size_t size;
  std::size_t usable;
  std::size_t alignment;  // as asked for; 0 if not at all
  std::uint64_t pattern;
  Origin origin;
};

struct Worker {
  unsigned index;
  unsigned generation;
  unsigned live;
  std::size_t live_bytes;
  std::uint64_t operations;
  Block* blocks[kBlocksPerThread];  // the live ones come first
};

using FreeSized = void (*)(void*, std::size_t);
using FreeAlignedSized = void (*)(void*, std::size_t, std::size_t);

OwnedMap owned;
Worker* workers;
std::atomic<Block*> exchange[kExchangeCells];
std::atomic<bool> stop{false};
std::size_t live_bytes_per_thread;
FreeSized free_sized_function;
FreeAlignedSized free_aligned_sized_function;

// Large blocks are written and checked at both ends and at one word in each page.
template <typename Visit>
void for_each_word(const Block& block, std::size_t size, Visit visit) {
  constexpr std::size_t kEnds = 8 * kKib;
  const std::size_t words = size / 8;
  for (std::size_t i = 0; i < words;) {
    visit(block.address + i * 8, std::size_t{8}, mix(block.pattern + i));
    const bool inside = i * 8 >= kEnds && i * 8 + kEnds < size;
    i += inside ? 512 : 1;
  }
  if (size % 8 != 0) visit(block.address + words * 8, size % 8, mix(block.pattern + words));
}

void write_pattern(Block* block, std::uint64_t pattern) {
  block->pattern = pattern;
  for_each_word(*block, block->size,
                [](unsigned char* at, std::size_t count, std::uint64_t value) { std::memcpy(at, &value, count); });
}

// Checks the first `size` bytes, all of them words that write_pattern() has written.
void check_pattern(const Block& block, std::size_t size, const char* when) {
  for_each_word(block, block.size, [&](const unsigned char* at, std::size_t count, std::uint64_t value) {
    const auto offset = static_cast<std::size_t>(at - block.address);
    if (offset >= size) return;
    if (std::memcmp(at, &value, offset + count <= size ? count : size - offset) != 0) {
      fail("block %p of %zu bytes: wrong contents at offset %zu %s", static_cast<const void*>(block.address),
           block.size, offset, when);
    }
  });
}

std::size_t random_size(Random* random) {
  const std::size_t kind = random->below(1024);
  if (kind == 0) return random->below(16 * kMib);
  if (kind < 8) return random->below(1 * kMib);
  if (kind < 80) {
    // Close to a power of two, where classes and layers change.
    const std::size_t power = std::size_t{1} << (4 + random->below(15));
    return power + random->below(33) - 16;
  }
  return random->below(std::size_t{1} << (4 + random->below(13)));
}

std::size_t random_alignment(Random* random) {
  return std::size_t{1} << (random->one_in(16) ? random->below(22) : random->below(13));
}

void expect_zero(const unsigned char* bytes, std::size_t size) {
  if (size != 0 && (bytes[0] != 0 || std::memcmp(bytes, bytes + 1, size - 1) != 0)) {
    fail("calloc gave %p of %zu bytes, which are not all zero", static_cast<const void*>(bytes), size);
  }
}

void enter(Worker* worker, Block* block, Random* random) {
  if (block->address == nullptr) fail("no memory for %zu bytes, alignment %zu", block->size, block->alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(block->address);
  if (address % kMinAlignment != 0 || (block->alignment != 0 && address % block->alignment != 0)) {
    fail("block %p of %zu bytes is not aligned to %zu", static_cast<void*>(block->address), block->size,
         block->alignment);
  }
  block->usable = malloc_usable_size(block->address);
  if (block->usable < block->size) fail("usable size %zu of a block of %zu bytes", block->usable, block->size);
  owned.claim(block->address, block->usable);
  write_pattern(block, random->next());
  worker->live_bytes += block->usable;
}

// Must come before the call that frees: right after it, the address may be another thread's.
void leave(Worker* worker, const Block& block) {
  if (malloc_usable_size(block.address) != block.usable) {
    fail("the usable size of %p changed from %zu", static_cast<void*>(block.address), block.usable);
  }
  owned.release(block.address, block.usable);
  worker->live_bytes -= block.usable < worker->live_bytes ? block.usable : worker->live_bytes;
}

void allocate(Worker* worker, Random* random) {
  Block* const block = worker->blocks[worker->live];
  block->size = random_size(random);
  block->alignment = 0;
  block->origin = Origin::kMalloc;
  const std::size_t size = block->size;
  void* address = nullptr;
  const std::size_t kind = random->below(24);
  if (kind >= 12 && kind < 18) {
    block->alignment = random_alignment(random);
    if (block->alignment > 64 * kKib) block->size %= 100 * kKib;
  }
  const std::size_t alignment = block->alignment;
  const std::size_t aligned_size = block->size;
  switch (kind) {
    default:
      address = malloc(size);
      break;
    case 7:
    case 8:
    case 9:
      block->size = (size + kind - 7) / (kind - 6) * (kind - 6);
      address = calloc(kind - 6, block->size / (kind - 6));
      if (address != nullptr) expect_zero(static_cast<unsigned char*>(address), block->size);
      break;
    case 10:
      address = size == 0 ? malloc(0) : realloc(nullptr, size);
      break;
    case 11:
      address = size == 0 ? malloc(0) : reallocarray(nullptr, size, 1);
      break;
    case 12:
    case 13:
      address = aligned_alloc(alignment, aligned_size);
      block->origin = Origin::kAligned;
      break;
    case 14:
      address = memalign(alignment, aligned_size);
      break;
    case 15:
      if (alignment < sizeof(void*)) {
        address = malloc(aligned_size);
      } else if (posix_memalign(&address, alignment, aligned_size) != 0) {
        fail("posix_memalign failed for %zu bytes, alignment %zu", aligned_size, alignment);
      }
      break;
    case 16:
      address = operator new (aligned_size, std::align_val_t{alignment});
      block->origin = Origin::kNewAligned;
      break;
    case 17:
      address = operator new (aligned_size, std::align_val_t{alignment}, std::nothrow);
      block->origin = Origin::kNewAligned;
      break;
    case 18:
      block->alignment = 4096;
      address = random->one_in(2) ? valloc(size) : pvalloc(size);
      break;
    case 19:
    case 20:
      address = kind == 19 ? operator new(size) : operator new(size, std::nothrow);
      block->origin = Origin::kNew;
      break;
    case 21:
      address = operator new[](size);
      block->origin = Origin::kNewArray;
      break;
  }
  block->address = static_cast<unsigned char*>(address);
  enter(worker, block, random);
  ++worker->live;
}

void call_free(const Block& block, Random* random) {
  void* const address = block.address;
  const bool sized = random->one_in(2);
  switch (block.origin) {
    case Origin::kMalloc:
      if (sized && block.alignment == 0 && free_sized_function != nullptr)
        return free_sized_function(address, block.size);
      return free(address);
    case Origin::kAligned:
      if (sized && free_aligned_sized_function != nullptr) {
        return free_aligned_sized_function(address, block.alignment, block.size);
      }
      return free(address);
    case Origin::kNew:
      if (sized) return operator delete(address, block.size);
      return operator delete(address);
    case Origin::kNewArray:
      if (sized) return operator delete[](address, block.size);
      return operator delete[](address);
    case Origin::kNewAligned:
      if (sized) return operator delete (address, block.size, std::align_val_t{block.alignment});
      return operator delete (address, std::align_val_t{block.alignment});
  }
}

void release(Worker* worker, Random* random) {
  const std::size_t index = random->below(worker->live);
  Block* const block = worker->blocks[index];
  check_pattern(*block, block->size, "before free");
  leave(worker, *block);
  errno = 4711;
  if (block->origin == Origin::kMalloc && random->one_in(40)) {
    if (realloc(block->address, 0) != nullptr) fail("realloc to 0 bytes gave a block");
  } else {
    call_free(*block, random);
  }
  if (errno != 4711)
    fail("freeing %p of %zu bytes set errno to %d", static_cast<void*>(block->address), block->size, errno);
  --worker->live;
  worker->blocks[index] = worker->blocks[worker->live];
  worker->blocks[worker->live] = block;
}

void resize(Worker* worker, Random* random) {
  Block* const block = worker->blocks[random->below(worker->live)];
  if (block->origin != Origin::kMalloc && block->origin != Origin::kAligned) return;
  check_pattern(*block, block->size, "before realloc");
  std::size_t size = random_size(random);
  if (random->one_in(3)) size = block->size + random->below(block->size / 4 + 64);
  if (random->one_in(6)) size = block->size - random->below(block->size / 4 + 1);
  if (size == 0 || size > 24 * kMib) size = 1;
  leave(worker, *block);
  void* const address = random->one_in(8) ? reallocarray(block->address, size, 1) : realloc(block->address, size);
  if (address == nullptr) fail("realloc from %zu to %zu bytes failed", block->size, size);
  block->address = static_cast<unsigned char*>(address);
  check_pattern(*block, size < block->size ? size : block->size, "after realloc");
  block->size = size;
  block->alignment = 0;
  block->origin = Origin::kMalloc;
  enter(worker, block, random);
}

// Gives a live block to whoever comes next, and takes the one that lies there, if any.
void hand_over(Worker* worker, Random* random) {
  std::atomic<Block*>& cell = exchange[random->below(kExchangeCells)];
  Block*& mine = worker->blocks[random->below(worker->live)];
  const std::size_t given = mine->usable;
  Block* const taken = cell.exchange(mine, std::memory_order_acq_rel);
  if (taken != nullptr) {
    mine = taken;
    worker->live_bytes += taken->usable;
    worker->live_bytes -= given < worker->live_bytes ? given : worker->live_bytes;
    check_pattern(*taken, taken->size, "after it was handed over");
    return;
  }
  // The cell was empty: the thread is short of one record, so it makes a new one.
  --worker->live;
  worker->live_bytes -= given < worker->live_bytes ? given : worker->live_bytes;
  Block* const fresh = static_cast<Block*>(map_memory(sizeof(Block)));
  mine = worker->blocks[worker->live];
  worker->blocks[worker->live] = fresh;
}

void check_failures(Random* random) {
  const std::size_t huge = static_cast<std::size_t>(PTRDIFF_MAX) + random->below(2 * kMib);
  void* untouched = &workers;
  errno = 0;
  volatile std::size_t hidden = huge;
  if (malloc(hidden) != nullptr || errno != ENOMEM) fail("malloc of %zu bytes", huge);
  if (calloc(hidden, 16) != nullptr) fail("calloc of %zu * 16 bytes", huge);
  if (posix_memalign(&untouched, 64, hidden) != ENOMEM || untouched != &workers)
    fail("posix_memalign of %zu bytes", huge);
}

void rare_calls(Random* random) {
  switch (random->below(4)) {
    case 0:
      malloc_trim(random->below(1 * kMib));
      break;
    case 1:
      check_failures(random);
      break;
    case 2:
      (void)mallinfo2();
      break;
    default:
      free(nullptr);
      break;
  }
}

// Grows for a while, then shrinks for a while, so that whole layers are filled and emptied.
void* work(void* argument) {
  auto* const worker = static_cast<Worker*>(argument);
  Random random(mix(seed) + worker->index * 1000003u + worker->generation * 7919u);
  const std::uint64_t most = 20000 + random.below(60000);
  std::size_t bias = 50;
  for (std::uint64_t i = 0; i < most && !stop.load(std::memory_order_relaxed); ++i) {
    if (i % 4096 == 0) bias = random.one_in(2) ? 40 + random.below(40) : 5 + random.below(40);
    if (random.one_in(5000)) rare_calls(&random);
    const bool full = worker->live == kBlocksPerThread || worker->live_bytes > live_bytes_per_thread;
    if (worker->live == 0 || (!full && random.below(100) < bias)) {
      allocate(worker, &random);
    } else if (random.one_in(4)) {
      resize(worker, &random);
    } else if (random.one_in(4)) {
      hand_over(worker, &random);
    } else {
      release(worker, &random);
    }
    ++worker->operations;
  }
  ++worker->generation;
  return nullptr;
}

double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One after the other, short-lived threads work on the blocks of one worker.
void* run_generations(void* argument) {
  while (!stop.load(std::memory_order_relaxed)) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, argument) != 0) fail("no thread");
    pthread_join(thread, nullptr);
  }
  return nullptr;
}

void check_rest(Worker* worker) {
  Random random(seed);
  while (worker->live > 0) release(worker, &random);
}

void run(unsigned threads, double seconds) {
  live_bytes_per_thread = kMostLiveBytes / threads;
  stop = false;
  const double end = seconds_now() + seconds;
  pthread_t supervisors[kMostThreads];
  for (unsigned i = 0; threads > 1 && i < threads; ++i) {
    if (pthread_create(&supervisors[i], nullptr, run_generations, &workers[i]) != 0) fail("no thread");
  }
  if (threads == 1) {
    while (seconds_now() < end) work(&workers[0]);
  } else {
    while (seconds_now() < end) usleep(10000);
    stop = true;
    for (unsigned i = 0; i < threads; ++i) pthread_join(supervisors[i], nullptr);
  }
  std::uint64_t operations = 0;
  for (unsigned i = 0; i < threads; ++i) {
    check_rest(&workers[i]);
    operations += workers[i].operations;
    workers[i].operations = 0;
  }
  // What lies in the table belongs to nobody now: check it through the first worker.
  for (std::atomic<Block*>& cell : exchange) {
    Block* const block = cell.exchange(nullptr);
    if (block == nullptr) continue;
    workers[0].blocks[0] = block;
    workers[0].live = 1;
    check_rest(&workers[0]);
  }
  std::printf("%u thread%s: %llu operations\n", threads, threads == 1 ? "" : "s",
              static_cast<unsigned long long>(operations));
}

template <typename Function>
Function find_function(const char* name) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  Function function = nullptr;
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 6;
  unsigned threads = 0;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  seed =
      mix(static_cast<std::uint64_t>(now.tv_nsec) + static_cast<std::uint64_t>(now.tv_sec) * 1000000007u) % 1000000000u;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::strtod(argv[i + 1], nullptr);
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--threads") == 0) threads = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
  }
  if (threads > kMostThreads) fail("at most %u threads", kMostThreads);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  free_sized_function = find_function<FreeSized>("free_sized");
  free_aligned_sized_function = find_function<FreeAlignedSized>("free_aligned_sized");
  owned.start();
  workers = static_cast<Worker*>(map_memory(sizeof(Worker) * kMostThreads));
  for (unsigned i = 0; i < kMostThreads; ++i) {
    workers[i].index = i;
    auto* const records = static_cast<Block*>(map_memory(sizeof(Block) * kBlocksPerThread));
    for (unsigned k = 0; k < kBlocksPerThread; ++k) workers[i].blocks[k] = &records[k];
  }
  if (threads != 0) {
    run(threads, seconds);
  } else {
    run(1, seconds);
    run(4, seconds);
  }
  return 0;
}
