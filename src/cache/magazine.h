// The memory behind a thread's magazines. A magazine is an array of addresses of free slots of one class, used as a
// stack, between a null (nothing below: empty) and a marker (nothing above: full):
//
//   | null | oldest ... newest | (unused) ... | marker |
//                              ^ top
//
// One load and one test say "empty" or "full". kClosedMagazine is both at once: a top that points into it makes every
// call go to the slow path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/guard_word.h"
#include "base/protected_ptr.h"
#include "base/relaxed.h"
#include "cache/quarantine.h"
#include "cache/remote_buffer.h"
#include "os/lock.h"
#include "policy/size_classes.h"

namespace arenite {

inline constexpr std::uintptr_t kFullMarker = 1;  // no slot has an odd address

ARENITE_ALWAYS_INLINE bool is_full_marker(const void* entry) { return address_of(entry) == kFullMarker; }

// [0] is the null below, [1] the marker. Never written: what is empty and full is not touched.
extern void* const kClosedMagazine[2];
constexpr void** closed_top() { return const_cast<void**>(&kClosedMagazine[1]); }

// The place of each class's first entry; the entry behind the last class is the length of the array.
inline constexpr std::array<std::uint16_t, kClassCount + 2> kMagazineStart = [] {
  std::array<std::uint16_t, kClassCount + 2> start{};
  start[1] = 1;
  for (unsigned cls = 1; cls <= kClassCount; ++cls) {
    start[cls + 1] = static_cast<std::uint16_t>(start[cls] + kSizeClasses[cls].magazine_capacity + 2);
  }
  return start;
}();

inline constexpr std::size_t kLargestMagazine = [] {
  std::size_t largest = 0;
  for (const SizeClass& info : kSizeClasses) {
    if (info.magazine_capacity > largest) largest = info.magazine_capacity;
  }
  return largest;
}();

// Of two slots that were given back twice, either of which may be null.
constexpr void* first_refused(void* a, void* b) { return a != nullptr ? a : b; }

class ThreadCache;

// What a thread and those that drain its cache from outside tell each other: see cache/drain.h.
struct StoreUse {
  ThreadCache* cache = nullptr;  // null before the thread has attached
  std::uint32_t thread = 0;      // its number
  bool busy = false;             // the thread is in a slow path
  bool draining = false;         // somebody takes what is cached home; the thread waits in its next slow path
  bool has_holes = false;        // nulls may stand between the entries of the magazines
  bool busy_before_fork = false;
  std::uint8_t forks_under_way = 0;     // more than one where a handler forks in the middle of a fork
  bool asked = false;                   // the thread is to give everything home at its next slow path
  std::uint32_t slow_paths = 0;         // of frees
  std::uint32_t slow_paths_before = 0;  // at the last drain_idle_caches()
  std::uint64_t looked_at = 0;          // when the thread last looked for what is idle, in microseconds
};

struct alignas(kLinkAlignment) MagazineStore {
  bool is_whole() const { return front.is_whole() && back.is_whole(); }
  // With the pool's lock.
  bool has_whole_links() const { return is_whole() && next.is_whole() && previous.is_whole(); }
  void** first_entry(ClassIndex cls) { return entries + kMagazineStart[cls.value]; }
  // Where the marker of the class stands.
  void** end_entry(ClassIndex cls) { return first_entry(cls) + capacity[cls.value]; }
  // Moves the marker. The magazine holds at most `slots`, which are at most the class's capacity.
  void set_capacity(ClassIndex cls, std::size_t slots) {
    *end_entry(cls) = nullptr;  // at capacity 0 this is the first entry
    capacity[cls.value] = static_cast<std::uint16_t>(slots);
    *end_entry(cls) = pointer_at(kFullMarker);
  }

  GuardWord front;
  ProtectedPtr<MagazineStore> next;      // the pool's: free ones, or those in use
  ProtectedPtr<MagazineStore> previous;  // of those in use
  std::uint32_t visitors;                // who keep it from being given to the pool
  StoreUse use;
  RemoteBuffer remote;
  std::uint16_t capacity[kClassCount + 1];  // in force, by class; 0 before the magazine was opened for the first time
  std::uint8_t flushes[kClassCount + 1];    // since the last refill
  bool used[kClassCount + 1];               // refilled or flushed since the thread last looked for what is idle
  GuardWord back;
  void* entries[kMagazineStart[kClassCount + 1]];
  // Only where the slow lever is set, so that nothing else touches these pages; and, in a forked child, of a vanished
  // thread.
  void** tops[kClassCount + 1];
  std::uint64_t random;        // never 0
  std::uint32_t until_sample;  // so many slots are taken before one is refused
  Quarantine quarantine;
};

static_assert(sizeof(MagazineStore) <= 64_KiB);

// All stores: those that threads have, and a few of ended threads, for the next threads.
class StorePool {
 public:
  constexpr StorePool() = default;

  // With the remote buffer empty; what the magazines hold is old, but the null below each stands. Null if the system
  // refuses.
  MagazineStore* take();
  // Waits for visitors.
  void give(MagazineStore* store);

  // Each store in use, which meanwhile is not given back. No lock is held during the action.
  template <typename Action>
  void for_each_used(Action action) {
    MagazineStore* store = nullptr;
    while ((store = visit_next(store)) != nullptr) action(*store);
  }
  // In a forked child, where only the calling thread is left: the others' stores are vanished ones from now on.
  void keep_only(MagazineStore* own);
  template <typename Action>
  void for_each_vanished(Action action) {
    const os::LockGuard guard(lock_);
    for (MagazineStore* store = vanished_.get(); store != nullptr; store = store->next.get()) action(*store);
  }
  bool has_vanished() const { return relaxed_load(&any_vanished_); }
  // One of them, the caller's then; null if there is none.
  MagazineStore* take_vanished();
  // A store that nobody uses is kept for the next thread, or goes back to the system.
  void put_away(MagazineStore* store);

  os::Lock& lock() { return lock_; }

 private:
  static constexpr std::size_t kMostKept = 4;

  MagazineStore* visit_next(MagazineStore* visited);
  void list(MagazineStore* store);
  void unlist(MagazineStore* store);

  os::Lock lock_{os::LockRank::kRegistry};
  std::size_t kept_ = 0;
  ProtectedPtr<MagazineStore> free_;
  ProtectedPtr<MagazineStore> used_;
  ProtectedPtr<MagazineStore> vanished_;
  bool any_vanished_ = false;  // relaxed
};

extern StorePool store_pool;

}  // namespace arenite
