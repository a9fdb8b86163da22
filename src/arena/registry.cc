#include "arena/registry.h"

#include <new>

#include "base/checks.h"
#include "os/guarded_memory.h"
#include "os/processors.h"
#include "policy/options.h"

namespace arenite {

constinit Registry registry;

namespace {

constexpr std::size_t kArenasPerProcessor = 4;

// By number. Beside the registry, so that its zeros take no room in the file.
constinit Arena* arenas[kMaxArenas + 1] = {};

}  // namespace

// Acquire pairs with the release in make(): the arena behind each number up to the count is complete.
std::uint16_t Registry::count() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE); }

Arena* Registry::find(ArenaId id) const { return id.value == 0 || id.value > count() ? nullptr : arenas[id.value]; }

// Reads files, so it is called without the lock.
std::size_t Registry::processors() {
  static std::size_t counted = 0;  // relaxed: every thread finds the same
  if (relaxed_load(&counted) == 0) relaxed_store(&counted, os::processor_count());
  return relaxed_load(&counted);
}

std::size_t Registry::limit() const {
  const std::size_t fixed = options.arena_max();
  if (fixed != 0) return fixed;
  const std::size_t untested = options.arena_test();
  const std::size_t by_processors = kArenasPerProcessor * processors();
  const std::size_t limit = by_processors > untested ? by_processors : untested;
  return limit < kMaxArenas ? limit : kMaxArenas;
}

// The processors are not counted before more than arena_test arenas are wanted.
Arena* Registry::attach() {
  std::size_t most = options.arena_max() != 0 ? options.arena_max() : options.arena_test();
  for (bool is_final = options.arena_max() != 0;; most = limit(), is_final = true) {
    const os::LockGuard guard(lock_);
    Arena* arena = take_free();
    if (arena == nullptr && count_ < most) arena = make();
    if (arena == nullptr && count_ >= most && !is_final) continue;
    if (arena == nullptr) arena = least_used();
    if (arena != nullptr) ++arena->registered.attached;
    return arena;
  }
}

Arena* Registry::take_free() {
  for (;;) {
    Arena* const arena = free_list_.get();
    if (arena == nullptr && free_list_.is_whole()) return nullptr;
    if (!is_arena(arena) || !arena->registered.next_free.is_whole()) {
      damage_log.note({.kind = Damage::kLink, .whole_arena = false, .arena = {}, .where = arena});
      remake_free_list();
      continue;
    }
    free_list_.set(arena->registered.next_free.get());
    arena->registered.on_free_list = false;
    if (!arena->contained()) return arena;
  }
}

bool Registry::is_arena(const Arena* arena) const {
  for (std::uint16_t number = 1; number <= count_; ++number) {
    if (arenas[number] == arena) return true;
  }
  return false;
}

// By what the arenas know of themselves.
void Registry::remake_free_list() {
  free_list_.set(nullptr);
  for (std::uint16_t number = 1; number <= count_; ++number) {
    arenas[number]->registered.on_free_list = false;
    put_on_free_list(*arenas[number]);
  }
}

Arena* Registry::make() {
  if (count_ == kMaxArenas) return nullptr;
  void* const place = os::map_guarded(sizeof(Arena));
  if (place == nullptr) return nullptr;
  const auto number = static_cast<std::uint16_t>(count_ + 1);
  arenas[number] = new (place) Arena({number});
  __atomic_store_n(&count_, number, __ATOMIC_RELEASE);
  return arenas[number];
}

Arena* Registry::least_used() {
  Arena* least = nullptr;
  for (std::uint16_t number = 1; number <= count_; ++number) {
    Arena* const arena = arenas[number];
    if (arena->contained()) continue;
    if (least == nullptr || arena->registered.attached < least->registered.attached) least = arena;
  }
  return least;
}

bool Registry::detach(Arena& arena) {
  const os::LockGuard guard(lock_);
  ARENITE_CHECK(arena.registered.attached > 0);
  --arena.registered.attached;
  put_on_free_list(arena);
  return arena.registered.attached == 0;
}

void Registry::put_on_free_list(Arena& arena) {
  if (arena.registered.attached != 0 || arena.registered.on_free_list || arena.contained()) return;
  arena.registered.next_free.set(free_list_.get());
  arena.registered.on_free_list = true;
  free_list_.set(&arena);
}

void Registry::keep_only(const Arena* own) {
  const os::LockGuard guard(lock_);
  for (std::uint16_t number = 1; number <= count_; ++number) {
    Arena& arena = *arenas[number];
    arena.registered.attached = &arena == own ? 1 : 0;
    put_on_free_list(arena);
  }
}

void Registry::check_invariants() {
  const os::LockGuard guard(lock_);
  ARENITE_CHECK(count_ <= kMaxArenas);
  std::size_t listed = 0;
  for (const Arena* arena = free_list_.get(); arena != nullptr; arena = arena->registered.next_free.get()) {
    ARENITE_CHECK(arena->registered.on_free_list && ++listed <= count_);
  }
  for (std::uint16_t number = 1; number <= count_; ++number) {
    const Arena& arena = *arenas[number];
    ARENITE_CHECK(arena.id() == ArenaId{number});
    if (arena.registered.on_free_list) --listed;
    if (!arena.contained()) ARENITE_CHECK(arena.registered.on_free_list == (arena.registered.attached == 0));
  }
  ARENITE_CHECK(listed == 0);
}

}  // namespace arenite
