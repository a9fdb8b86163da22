#include "fake/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "base/bits.h"
#include "os/memory.h"
#include "os/platform.h"

namespace arenite::fake {

namespace {

enum class State : std::uint8_t { kReserved, kReadable, kUsable, kGuarded };

struct Range {
  std::uintptr_t end;
  State state;
  std::size_t huge_page;  // 0: of usual pages
};

constexpr const char* kNames[kCalls] = {
    "reserve", "reserve_at",      "commit", "make_readable", "purge",       "replace",  "decommit", "release",
    "map",     "resize_in_place", "move",   "advise_huge",   "commit_huge", "map_huge", "guard",    "unguard"};

[[noreturn]] void illegal(Call kind, const char* why, const void* address, std::size_t bytes) {
  std::fprintf(stderr, "fake memory: illegal %s(%p, %zu): %s\n", kNames[static_cast<std::size_t>(kind)], address, bytes,
               why);
  std::abort();
}

// All ranges, disjoint; neighbours need not be merged.
class Books {
 public:
  std::size_t mapped = 0;
  std::size_t usable = 0;
  std::size_t pool = 0;

  template <typename Accepts>
  bool all(std::uintptr_t start, std::uintptr_t end, Accepts accepts) const {
    auto it = ranges_.upper_bound(start);
    if (it == ranges_.begin()) return start >= end;
    --it;
    while (start < end) {
      if (it == ranges_.end() || it->first > start || it->second.end <= start || !accepts(it->second.state))
        return false;
      start = it->second.end;
      ++it;
    }
    return true;
  }

  bool none(std::uintptr_t start, std::uintptr_t end) const {
    auto it = ranges_.lower_bound(start);
    if (it != ranges_.end() && it->first < end) return false;
    return it == ranges_.begin() || std::prev(it)->second.end <= start;
  }

  void erase(std::uintptr_t start, std::uintptr_t end) {
    split(start);
    split(end);
    for (auto it = ranges_.lower_bound(start); it != ranges_.end() && it->first < end; it = ranges_.erase(it)) {
      mapped -= it->second.end - it->first;
      if (it->second.state == State::kUsable) usable -= it->second.end - it->first;
      if (it->second.huge_page != 0) pool -= it->second.end - it->first;
    }
  }

  void set(std::uintptr_t start, std::uintptr_t end, State state, std::size_t huge_page = 0) {
    erase(start, end);
    ranges_[start] = {end, state, huge_page};
    mapped += end - start;
    if (state == State::kUsable) usable += end - start;
    if (huge_page != 0) pool += end - start;
  }

  // The size of the huge page that `at` belongs to; 0 if it is a usual one or none.
  std::size_t huge_page_at(std::uintptr_t at) const {
    auto it = ranges_.upper_bound(at);
    if (it == ranges_.begin()) return 0;
    --it;
    return at < it->second.end ? it->second.huge_page : 0;
  }
  bool is_inside_huge_page(std::uintptr_t at) const {
    const std::size_t size = huge_page_at(at);
    return size != 0 && at % size != 0;
  }

  const std::map<std::uintptr_t, Range>& ranges() const { return ranges_; }
  void clear() {
    ranges_.clear();
    mapped = usable = pool = 0;
  }

 private:
  void split(std::uintptr_t at) {
    auto it = ranges_.lower_bound(at);
    if (it == ranges_.begin()) return;
    --it;
    if (it->second.end <= at) return;
    ranges_[at] = it->second;
    it->second.end = at;
  }

  std::map<std::uintptr_t, Range> ranges_;
};

struct Refusals {
  std::size_t any_in = 0;  // 0: none is to fail
  std::size_t kind_in[kCalls] = {};
  bool all[kCalls] = {};
  std::size_t most_mapped = SIZE_MAX;
  std::size_t most_usable = SIZE_MAX;
  std::size_t most_pool = SIZE_MAX;
};

struct World {
  std::mutex mutex;
  Books books;
  Refusals refusals;
  bool refused = false;
  std::uintptr_t ground = 0;
  std::uintptr_t next_place = 0;
  std::size_t page = 4096;
  bool has_guards = false;
  std::size_t counts[kCalls] = {};
};

World& world() {
  static World& the_world = *new World;
  return the_world;
}

using Guard = std::lock_guard<std::mutex>;

bool counted_down(std::size_t* left) { return *left != 0 && --*left == 0; }

// Counts the call; false if it is to be refused. `mapped`, `usable` and `pool` are what it would add.
bool begin(Call kind, std::size_t mapped, std::size_t usable, std::size_t pool = 0) {
  World& w = world();
  const auto index = static_cast<std::size_t>(kind);
  ++w.counts[index];
  const bool by_any = counted_down(&w.refusals.any_in);
  const bool by_kind = counted_down(&w.refusals.kind_in[index]);
  const bool too_much = (mapped != 0 && saturating_add(w.books.mapped, mapped) > w.refusals.most_mapped) ||
                        (usable != 0 && saturating_add(w.books.usable, usable) > w.refusals.most_usable) ||
                        (pool != 0 && saturating_add(w.books.pool, pool) > w.refusals.most_pool);
  if (!by_any && !by_kind && !w.refusals.all[index] && !too_much) return true;
  w.refused = true;
  return false;
}

void check_range(Call kind, const void* address, std::size_t bytes) {
  const std::size_t page = world().page;
  if (bytes == 0) illegal(kind, "no bytes", address, bytes);
  if (!is_aligned(address_of(address), page)) illegal(kind, "the address is inside a page", address, bytes);
  if (!is_aligned(bytes, page)) illegal(kind, "the length is not whole pages", address, bytes);
  if (address_of(address) + bytes < bytes) illegal(kind, "the range wraps", address, bytes);
}

template <typename Accepts>
void check_state(Call kind, const void* address, std::size_t bytes, const char* why, Accepts accepts) {
  const std::uintptr_t start = address_of(address);
  const Books& books = world().books;
  if (!books.all(start, start + bytes, accepts)) illegal(kind, why, address, bytes);
  if (books.is_inside_huge_page(start) || books.is_inside_huge_page(start + bytes)) {
    illegal(kind, "the range begins or ends inside a huge page", address, bytes);
  }
}

void check_huge_range(Call kind, const void* address, std::size_t bytes, std::size_t huge_page_size) {
  check_range(kind, address, bytes);
  if (huge_page_size <= world().page || (huge_page_size & (huge_page_size - 1)) != 0) {
    illegal(kind, "bad size of huge pages", address, bytes);
  }
  if (!is_aligned(address_of(address), huge_page_size))
    illegal(kind, "the address is inside a huge page", address, bytes);
  if (!is_aligned(bytes, huge_page_size)) illegal(kind, "the length is not whole huge pages", address, bytes);
}

bool any_state(State) { return true; }
bool is_usable_state(State state) { return state == State::kUsable; }

// The kernel cuts off huge pages, but never adds some.
bool can_be_resized(Call kind, const void* address, std::size_t old_bytes, std::size_t new_bytes) {
  const std::size_t huge_page = world().books.huge_page_at(address_of(address));
  if (huge_page == 0) return true;
  if (!is_aligned(new_bytes, huge_page)) illegal(kind, "the new length is not whole huge pages", address, new_bytes);
  return new_bytes <= old_bytes;
}

void must(bool succeeded, const char* what) {
  if (succeeded) return;
  std::perror(what);
  std::abort();
}

// One large range of address space of the fake's own, in which everything is placed: where something is does not depend
// on what the rest of the program has mapped. What is not handed out is PROT_NONE.
constexpr std::size_t kGroundBytes = std::size_t{1} << 36;
constexpr int kGroundFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::uintptr_t ground() {
  World& w = world();
  if (w.ground == 0) {
    void* const got = mmap(nullptr, kGroundBytes + kHeapSize, PROT_NONE, kGroundFlags, -1, 0);
    must(got != MAP_FAILED, "mmap");
    w.ground = align_up(address_of(got), kHeapSize);
  }
  return w.ground;
}

void set_fresh(std::uintptr_t start, std::size_t bytes, int protection) {
  must(mmap(pointer_at(start), bytes, protection, kGroundFlags | MAP_FIXED, -1, 0) == pointer_at(start), "mmap");
}

bool is_free(std::uintptr_t start, std::size_t bytes) {
  return start >= ground() && bytes <= kGroundBytes && start - ground() <= kGroundBytes - bytes &&
         world().books.none(start, start + bytes);
}

// The highest free place, as the kernel chooses; 0 if there is none.
std::uintptr_t find_place(std::size_t bytes, std::size_t alignment) {
  if (bytes > kGroundBytes || alignment > kGroundBytes) return 0;
  std::uintptr_t place = align_down(ground() + kGroundBytes - bytes, alignment);
  const auto& ranges = world().books.ranges();
  for (auto range = ranges.rbegin(); range != ranges.rend() && range->second.end > place; ++range) {
    if (range->first < place + bytes) place = align_down(range->first - bytes, alignment);
  }
  return place >= ground() && place < ground() + kGroundBytes ? place : 0;
}

void* place_and_enter(Call kind, std::size_t bytes, std::size_t alignment, State state, std::size_t huge_page = 0) {
  const Guard guard(world().mutex);
  check_range(kind, nullptr, bytes);
  if (alignment < world().page || (alignment & (alignment - 1)) != 0) illegal(kind, "bad alignment", nullptr, bytes);
  const bool usable = state == State::kUsable;
  if (!begin(kind, bytes, usable ? bytes : 0, huge_page == 0 ? 0 : bytes)) return nullptr;
  std::uintptr_t place = world().next_place;
  world().next_place = 0;
  if (place == 0) {
    place = find_place(bytes, alignment);
    if (place == 0) return nullptr;
  } else if (!is_free(place, bytes)) {
    return nullptr;
  }
  set_fresh(place, bytes, usable ? PROT_READ | PROT_WRITE : PROT_NONE);
  world().books.set(place, place + bytes, state, huge_page);
  return pointer_at(place);
}

}  // namespace

void set_page_size(std::size_t bytes) {
  const Guard guard(world().mutex);
  world().page = bytes;
}

void have_guards(bool has_guards) {
  const Guard guard(world().mutex);
  world().has_guards = has_guards;
}

void fail_call(std::size_t n) {
  const Guard guard(world().mutex);
  world().refusals.any_in = n;
  world().refused = false;
}

void fail_call(Call kind, std::size_t n) {
  const Guard guard(world().mutex);
  world().refusals.kind_in[static_cast<std::size_t>(kind)] = n;
  world().refused = false;
}

void fail_all(Call kind) {
  const Guard guard(world().mutex);
  world().refusals.all[static_cast<std::size_t>(kind)] = true;
  world().refused = false;
}

void limit_mapped(std::size_t bytes) {
  const Guard guard(world().mutex);
  world().refusals.most_mapped = bytes;
  world().refused = false;
}

void limit_usable(std::size_t bytes) {
  const Guard guard(world().mutex);
  world().refusals.most_usable = bytes;
  world().refused = false;
}

void limit_pool(std::size_t bytes) {
  const Guard guard(world().mutex);
  world().refusals.most_pool = bytes;
  world().refused = false;
}

void allow_all() {
  const Guard guard(world().mutex);
  world().refusals = {};
  world().refused = false;
}

bool refused() {
  const Guard guard(world().mutex);
  return world().refused;
}

void place_next(std::uintptr_t address) {
  const Guard guard(world().mutex);
  world().next_place = address;
}

std::size_t calls() {
  const Guard guard(world().mutex);
  std::size_t sum = 0;
  for (const std::size_t count : world().counts) sum += count;
  return sum;
}

std::size_t calls(Call kind) {
  const Guard guard(world().mutex);
  return world().counts[static_cast<std::size_t>(kind)];
}

std::size_t mapped_bytes() {
  const Guard guard(world().mutex);
  return world().books.mapped;
}

std::size_t usable_bytes() {
  const Guard guard(world().mutex);
  return world().books.usable;
}

std::size_t pool_bytes() {
  const Guard guard(world().mutex);
  return world().books.pool;
}

bool is_mapped(const void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  return world().books.all(address_of(address), address_of(address) + bytes, any_state);
}

bool is_usable(const void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  return world().books.all(address_of(address), address_of(address) + bytes, is_usable_state);
}

void forget_everything(void (*visit)(std::uintptr_t start, std::uintptr_t end)) {
  World& w = world();
  const Guard guard(w.mutex);
  for (const auto& [start, range] : w.books.ranges()) {
    if (visit != nullptr) visit(start, range.end);
    set_fresh(start, range.end - start, PROT_NONE);
  }
  w.books.clear();
  w.refusals = {};
  w.refused = false;
  w.next_place = 0;
  w.page = 4096;
  w.has_guards = false;
  for (std::size_t& count : w.counts) count = 0;
}

}  // namespace arenite::fake

// The functions of os/memory.h.
namespace arenite::os {

using fake::Call;
using fake::check_huge_range;
using fake::check_range;
using fake::check_state;
using fake::Guard;
using fake::must;
using fake::State;
using fake::world;

std::size_t page_size() {
  const Guard guard(world().mutex);
  return world().page;
}

void* reserve(std::size_t bytes, std::size_t alignment) {
  return fake::place_and_enter(Call::kReserve, bytes, alignment, State::kReserved);
}

void* map(std::size_t bytes, std::size_t alignment) {
  return fake::place_and_enter(Call::kMap, bytes, alignment, State::kUsable);
}

bool reserve_at(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kReserveAt, address, bytes);
  if (!fake::begin(Call::kReserveAt, bytes, 0)) return false;
  if (!fake::is_free(address_of(address), bytes)) return false;
  world().books.set(address_of(address), address_of(address) + bytes, State::kReserved);
  return true;
}

bool commit(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kCommit, address, bytes);
  check_state(Call::kCommit, address, bytes, "not all of it is reserved",
              [](State state) { return state != State::kUsable; });
  if (!fake::begin(Call::kCommit, 0, bytes)) return false;
  must(mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
  world().books.set(address_of(address), address_of(address) + bytes, State::kUsable);
  return true;
}

bool make_readable(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kMakeReadable, address, bytes);
  check_state(Call::kMakeReadable, address, bytes, "not all of it is reserved or usable",
              [](State state) { return state == State::kReserved || state == State::kUsable; });
  if (!fake::begin(Call::kMakeReadable, 0, 0)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_READ);
  world().books.set(address_of(address), address_of(address) + bytes, State::kReadable);
  return true;
}

bool purge(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kPurge, address, bytes);
  check_state(Call::kPurge, address, bytes, "not all of it is usable", fake::is_usable_state);
  if (!fake::begin(Call::kPurge, 0, 0)) return false;
  must(madvise(address, bytes, MADV_DONTNEED) == 0, "madvise");
  return true;
}

bool replace(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kReplace, address, bytes);
  check_state(Call::kReplace, address, bytes, "not all of it is usable", fake::is_usable_state);
  if (!fake::begin(Call::kReplace, 0, 0)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_READ | PROT_WRITE);
  world().books.set(address_of(address), address_of(address) + bytes, State::kUsable);
  return true;
}

bool decommit(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kDecommit, address, bytes);
  check_state(Call::kDecommit, address, bytes, "not all of it is usable", fake::is_usable_state);
  if (!fake::begin(Call::kDecommit, 0, 0)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_NONE);
  world().books.set(address_of(address), address_of(address) + bytes, State::kReserved);
  return true;
}

bool release(void* address, std::size_t bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kRelease, address, bytes);
  check_state(Call::kRelease, address, bytes, "not all of it is mapped", fake::any_state);
  if (!fake::begin(Call::kRelease, 0, 0)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_NONE);
  world().books.erase(address_of(address), address_of(address) + bytes);
  return true;
}

bool resize_in_place(void* address, std::size_t old_bytes, std::size_t new_bytes) {
  const Guard guard(world().mutex);
  check_range(Call::kResizeInPlace, address, old_bytes);
  check_range(Call::kResizeInPlace, address, new_bytes);
  check_state(Call::kResizeInPlace, address, old_bytes, "not all of it is usable", fake::is_usable_state);
  const std::size_t more = new_bytes > old_bytes ? new_bytes - old_bytes : 0;
  if (!fake::begin(Call::kResizeInPlace, more, more)) return false;
  const std::uintptr_t start = address_of(address);
  if (!fake::can_be_resized(Call::kResizeInPlace, address, old_bytes, new_bytes)) return false;
  if (new_bytes < old_bytes) {
    fake::set_fresh(start + new_bytes, old_bytes - new_bytes, PROT_NONE);
    world().books.erase(start + new_bytes, start + old_bytes);
  } else if (new_bytes > old_bytes) {
    if (!fake::is_free(start + old_bytes, more)) return false;
    fake::set_fresh(start + old_bytes, more, PROT_READ | PROT_WRITE);
    world().books.set(start + old_bytes, start + new_bytes, State::kUsable);
  }
  return true;
}

void* move(void* address, std::size_t old_bytes, std::size_t new_bytes) {
  std::size_t huge_page = 0;
  {
    const Guard guard(world().mutex);
    check_range(Call::kMove, address, old_bytes);
    check_state(Call::kMove, address, old_bytes, "not all of it is usable", fake::is_usable_state);
    huge_page = world().books.huge_page_at(address_of(address));
    if (!fake::can_be_resized(Call::kMove, address, old_bytes, new_bytes)) {
      fake::begin(Call::kMove, 0, 0);
      return nullptr;
    }
  }
  const std::size_t alignment = huge_page == 0 ? world().page : huge_page;
  void* const target = fake::place_and_enter(Call::kMove, new_bytes, alignment, State::kUsable, huge_page);
  if (target == nullptr) return nullptr;
  const Guard guard(world().mutex);
  std::memcpy(target, address, old_bytes < new_bytes ? old_bytes : new_bytes);
  fake::set_fresh(address_of(address), old_bytes, PROT_NONE);
  world().books.erase(address_of(address), address_of(address) + old_bytes);
  return target;
}

bool guard(void* address, std::size_t bytes) {
  const Guard lock(world().mutex);
  check_range(Call::kGuard, address, bytes);
  check_state(Call::kGuard, address, bytes, "not all of it is usable", fake::is_usable_state);
  if (!world().has_guards || !fake::begin(Call::kGuard, 0, 0)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_NONE);
  world().books.set(address_of(address), address_of(address) + bytes, State::kGuarded);
  return true;
}

bool unguard(void* address, std::size_t bytes) {
  const Guard lock(world().mutex);
  check_range(Call::kUnguard, address, bytes);
  check_state(Call::kUnguard, address, bytes, "not all of it is guarded",
              [](State state) { return state == State::kGuarded; });
  if (!fake::begin(Call::kUnguard, 0, 0)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_READ | PROT_WRITE);
  world().books.set(address_of(address), address_of(address) + bytes, State::kUsable);
  return true;
}

bool advise_huge(void* address, std::size_t bytes, bool) {
  const Guard guard(world().mutex);
  check_range(Call::kAdviseHuge, address, bytes);
  check_state(Call::kAdviseHuge, address, bytes, "not all of it is mapped", fake::any_state);
  return fake::begin(Call::kAdviseHuge, 0, 0);
}

bool commit_huge(void* address, std::size_t bytes, std::size_t huge_page_size) {
  const Guard guard(world().mutex);
  check_huge_range(Call::kCommitHuge, address, bytes, huge_page_size);
  check_state(Call::kCommitHuge, address, bytes, "not all of it is reserved",
              [](State state) { return state != State::kUsable; });
  if (!fake::begin(Call::kCommitHuge, 0, bytes, bytes)) return false;
  fake::set_fresh(address_of(address), bytes, PROT_READ | PROT_WRITE);
  world().books.set(address_of(address), address_of(address) + bytes, State::kUsable, huge_page_size);
  return true;
}

void* map_huge(std::size_t bytes, std::size_t alignment, std::size_t huge_page_size) {
  {
    const Guard guard(world().mutex);
    check_huge_range(Call::kMapHuge, nullptr, bytes, huge_page_size);
  }
  const std::size_t both = alignment < huge_page_size ? huge_page_size : alignment;
  return fake::place_and_enter(Call::kMapHuge, bytes, both, State::kUsable, huge_page_size);
}

}  // namespace arenite::os
