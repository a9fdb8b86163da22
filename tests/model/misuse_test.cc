// A randomised model of the heap that also calls wrongly: it knows which blocks live and what is in them, and so which
// calls are wrong. Each wrong call must be reported, once, and have no effect; no right one may be reported.
//
// Arguments: --seconds N (5 by default), --seed S.
#include "process/support.h"

namespace {

constexpr size_t kMostBlocks = 2000;
constexpr size_t kMostFreed = 4000;
constexpr size_t kTableSize = 16384;  // a power of two, far above kMostBlocks

struct Block {
  char* start;
  size_t size;
  unsigned tag;
};

uint64_t random_state = 1;
Block live[kMostBlocks];
size_t live_count;
void* freed[kMostFreed];
size_t freed_count;
int reports;

size_t chance(size_t below) { return static_cast<size_t>(next_random(&random_state) % below); }

// Where each live block starts.
class Starts {
 public:
  bool has(const void* start) const { return places_[place_of(start)] == start; }
  void add(const void* start) { places_[place_of(start)] = start; }
  void remove(const void* start) {
    size_t gap = place_of(start);
    places_[gap] = nullptr;
    for (size_t at = (gap + 1) % kTableSize; places_[at] != nullptr; at = (at + 1) % kTableSize) {
      const void* const moved = places_[at];
      places_[at] = nullptr;
      places_[place_of(moved)] = moved;
    }
  }

 private:
  size_t place_of(const void* start) const {
    size_t at = (reinterpret_cast<uintptr_t>(start) >> 4) * 0x9e3779b97f4a7c15u >> 50;
    while (places_[at] != nullptr && places_[at] != start) at = (at + 1) % kTableSize;
    return at;
  }

  const void* places_[kTableSize];
};
Starts starts;

long reported_bytes() {
  const off_t end = lseek(reports, 0, SEEK_END);
  REQUIRE(end >= 0);
  return end;
}

size_t random_size() {
  static const size_t limits[] = {64, 64, 300, 300, 3000, 3000, 40000, 200000, 1000000};
  return 1 + chance(limits[chance(sizeof limits / sizeof *limits)]);
}

void check(const Block& block) {
  if (!holds(block.start, block.size, block.tag)) fail("a block of %zu bytes has changed", block.size);
}

void add(void* start, size_t size) {
  REQUIRE(start != nullptr);
  if (starts.has(start)) fail("%p is handed out twice", start);
  starts.add(start);
  live[live_count] = {static_cast<char*>(start), size, static_cast<unsigned>(chance(1000))};
  fill(start, size, live[live_count].tag);
  ++live_count;
}

void remove(size_t index) {
  starts.remove(live[index].start);
  freed[freed_count < kMostFreed ? freed_count++ : chance(kMostFreed)] = live[index].start;
  live[index] = live[--live_count];
}

// --- right calls
// ------------------------------------------------------------------------------------------------------

void allocate() {
  const size_t size = random_size();
  if (live_count == kMostBlocks) return;
  add(chance(4) == 0 ? aligned_alloc(size_t{16} << chance(9), size) : malloc(size), size);
}

void release() {
  if (live_count == 0) return;
  const size_t index = chance(live_count);
  check(live[index]);
  char* const start = live[index].start;
  remove(index);
  free(start);
}

void resize() {
  if (live_count == 0) return;
  const size_t index = chance(live_count);
  const Block before = live[index];
  const size_t size = random_size();
  check(before);
  auto* const now = static_cast<char*>(realloc(before.start, size));
  REQUIRE(now != nullptr);
  const size_t kept = size < before.size ? size : before.size;
  if (!holds(now, kept, before.tag)) fail("realloc from %zu to %zu bytes lost something", before.size, size);
  remove(index);
  if (now == before.start) --freed_count;
  add(now, size);
}

// --- wrong calls
// ------------------------------------------------------------------------------------------------------

// An address that no live block starts at; null if chance finds none.
void* wrong_address() {
  static char data[256];
  switch (chance(7)) {
    case 0:
      return data + chance(sizeof data);
    case 1:
      return reinterpret_cast<void*>(next_random(&random_state) | 1u);
    case 2:
      return reinterpret_cast<void*>(next_random(&random_state) >> 16 & ~uint64_t{15});
    case 3:
      if (live_count == 0) return nullptr;
      return live[chance(live_count)].start + (chance(2) == 0 ? 16 * chance(64) : chance(100000));
    default:
      return freed_count == 0 ? nullptr : freed[chance(freed_count)];
  }
}

using FreeSized = void(void*, size_t);

// False if nothing was done.
bool call_wrongly() {
  static auto* const free_sized = reinterpret_cast<FreeSized*>(dlsym(RTLD_DEFAULT, "free_sized"));
  if (chance(8) == 0 && free_sized != nullptr && live_count != 0) {
    const Block& block = live[chance(live_count)];
    free_sized(block.start, block.size + (size_t{3} << 20));
    return true;
  }
  void* const address = wrong_address();
  if (address == nullptr || starts.has(address)) return false;
  errno = 77;
  if (chance(3) == 0) {
    REQUIRE(realloc(hide(address), random_size()) == nullptr);
  } else {
    free(hide(address));
  }
  REQUIRE(errno == 77);
  return true;
}

// ----------------------------------------------------------------------------------------------------------------------

void step() {
  const long before = reported_bytes();
  const size_t choice = chance(100);
  bool is_wrong = false;
  if (choice < 40) {
    allocate();
  } else if (choice < 70) {
    release();
  } else if (choice < 80) {
    resize();
  } else {
    is_wrong = call_wrongly();
  }
  if (chance(5000) == 0) malloc_trim(0);
  const long after = reported_bytes();
  if (is_wrong && after == before) fail("a wrong call was not reported");
  if (!is_wrong && after != before) fail("a right call was reported");
  if (after > 1000000) REQUIRE(ftruncate(reports, 0) == 0);
}

long argument(int count, char** arguments, const char* name, long otherwise) {
  for (int index = 1; index + 1 < count; ++index) {
    if (strcmp(arguments[index], name) == 0) return atol(arguments[index + 1]);
  }
  return otherwise;
}

}  // namespace

int main(int count, char** arguments) {
  const double end = seconds_now() + static_cast<double>(argument(count, arguments, "--seconds", 5));
  random_state = static_cast<uint64_t>(argument(count, arguments, "--seed", static_cast<long>(time(nullptr))));
  const uint64_t seed = random_state;
  reports = memfd_create("reports", 0);
  REQUIRE(reports >= 0 && mallopt(M_CHECK_ACTION, 5) == 1);
  const pid_t child = fork();
  if (child == 0) {
    REQUIRE(dup2(reports, 2) == 2);
    uint64_t steps = 0;
    for (; seconds_now() < end; ++steps) step();
    for (size_t index = 0; index < live_count; ++index) check(live[index]);
    dprintf(1, "%llu steps\n", static_cast<unsigned long long>(steps));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (status == 0) return 0;
  char last[600] = "";
  const off_t length = lseek(reports, 0, SEEK_END);
  const off_t from = length > 200 ? length - 200 : 0;
  if (pread(reports, last, sizeof last - 1, from) < 0) return 3;
  fail("status 0x%x (again: --seed %llu): ...%s", status, static_cast<unsigned long long>(seed), last);
}
