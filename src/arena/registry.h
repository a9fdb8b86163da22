// All arenas, and which of them threads are attached to. A finished thread's arena goes to the free list and is used
// again first, spans, warm memory and all; below the limit a new one is made; at the limit the least used one is
// shared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena/arena.h"
#include "os/lock.h"

namespace arenite {

class Registry {
 public:
  constexpr Registry() = default;

  // Null only if no arena can be used and none can be made.
  Arena* attach();
  // True if no thread is attached to the arena any more.
  bool detach(Arena& arena);

  // Number 1 to count(); null beyond.
  Arena* find(ArenaId id) const;
  std::uint16_t count() const;

  template <typename Action>
  void for_each(Action action) {
    const std::uint16_t arenas = count();
    for (std::uint16_t id = 1; id <= arenas; ++id) action(*find({id}));
  }

  // The most arenas that attach() makes.
  std::size_t limit() const;
  // That the process may use; counted once.
  static std::size_t processors();

  os::Lock& lock() { return lock_; }

  // In a forked child, where only the calling thread is left: all arenas but `own` are free.
  void keep_only(const Arena* own);

  //   A1  an arena is on the free list exactly when no thread is attached to it and it is not contained
  //   A2  count_ <= kMaxArenas; arenas 1 to count_ are set and never change
  void check_invariants();

 private:
  Arena* take_free();
  bool is_arena(const Arena* arena) const;
  void remake_free_list();
  Arena* make();
  Arena* least_used();
  void put_on_free_list(Arena& arena);

  os::Lock lock_{os::LockRank::kRegistry};
  std::uint16_t count_ = 0;
  ProtectedPtr<Arena> free_list_;
};

extern Registry registry;

}  // namespace arenite
