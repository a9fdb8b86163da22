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

#include "base/protected_ptr.h"
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

struct MagazineStore {
  void** first_entry(ClassIndex cls) { return entries + kMagazineStart[cls.value]; }
  // Where the marker of the class stands.
  void** end_entry(ClassIndex cls) { return first_entry(cls) + capacity[cls.value]; }
  // Moves the marker. The magazine holds at most `slots`, which are at most the class's capacity.
  void set_capacity(ClassIndex cls, std::size_t slots) {
    *end_entry(cls) = nullptr;  // at capacity 0 this is the first entry
    capacity[cls.value] = static_cast<std::uint16_t>(slots);
    *end_entry(cls) = pointer_at(kFullMarker);
  }

  ProtectedPtr<MagazineStore> next_free;  // the pool's, while no thread has it
  RemoteBuffer remote;
  std::uint16_t capacity[kClassCount + 1];  // in force, by class; 0 before the magazine was opened for the first time
  std::uint8_t flushes[kClassCount + 1];    // since the last refill
  void* entries[kMagazineStart[kClassCount + 1]];
};

static_assert(sizeof(MagazineStore) <= 64_KiB);

// Stores of ended threads, for the next threads; a few, the others are unmapped.
class StorePool {
 public:
  constexpr StorePool() = default;

  // With the remote buffer empty; what the magazines hold is old, but the null below each stands. Null if the system
  // refuses.
  MagazineStore* take();
  void give(MagazineStore* store);

  os::Lock& lock() { return lock_; }

 private:
  static constexpr std::size_t kMostKept = 16;

  os::Lock lock_{os::LockRank::kRegistry};
  std::size_t kept_ = 0;
  ProtectedPtr<MagazineStore> free_;
};

extern StorePool store_pool;

}  // namespace arenite
