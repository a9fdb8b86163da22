// Requests served by a mapping of their own: the registry of their addresses and lengths, out of band, and the calls
// that make, resize and end them. Answers "is this the start of a large mapping" in constant time, for any value.
//
// Sixteen shards by address, each an open-addressed table under a lock of its own.
//
// An entry is
//   kLive      from take to give; the only ones that find() sees
//   kLeaving   while the mapping is unmapped or moved away. Once that is done, another thread may get the same address
//              and enter it a second time, as kLive
//   kStranded  where the system has refused to unmap it; tried again at later gives
//   kWaiting   given back, without access, until enough others have been: nobody gets its address meanwhile
//
// Where guards are wanted, memory without access lies on both sides of a mapping, and is unmapped with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "os/lock.h"

namespace arenite {

// What stands at an address.
struct LargeBlock {
  std::size_t bytes = 0;     // of the mapping; 0 if none starts there
  bool untouchable = false;  // without access: a block of size 0
};

struct LargeFigures {
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::size_t max_count = 0;
  std::size_t max_bytes = 0;
  std::size_t huge_padding = 0;  // bytes beyond the requests, to fill huge pages
};

class LargeMappings {
 public:
  constexpr LargeMappings() = default;

  // At least `bytes` zero-filled bytes, starting at a multiple of `alignment`. Null if the system refuses.
  void* take(std::size_t bytes, std::size_t alignment);
  // A block that cannot be touched. Null if the system refuses.
  void* take_untouchable(std::size_t alignment);
  // The mapping that starts at `pointer`.
  LargeBlock find(const void* pointer);
  // Whether take(size) can have made, or resize(size) left, a mapping of that length.
  static bool fits(std::size_t size, std::size_t length);
  // End the mapping that starts at `pointer`; its length, 0 if there is none (and nothing was done).
  std::size_t give(void* pointer);
  // Make it at least `bytes` long, moving pages if needed. Null, and nothing changed, if there is none or the system
  // refuses.
  void* resize(void* pointer, std::size_t bytes);

  // Those that wait after they have been given back leave now, and so do stranded ones if the system allows. The bytes
  // of address space released, without the stranded.
  std::size_t end_waits();

  LargeFigures figures() const;

  template <typename Action>
  void for_each_lock(Action action) {
    for (Shard& shard : shards_) action(shard.lock);
    action(waiting_lock_);
  }

 private:
  enum class State : std::uint8_t { kLive, kLeaving, kStranded, kWaiting };

  struct Entry {
    std::uintptr_t address = 0;  // 0: empty
    std::size_t bytes = 0;
    State state = State::kLive;
    bool from_pool = false;  // of huge pages: the kernel resizes it in whole ones only, if at all
    bool untouchable = false;
    std::uint32_t padding = 0;  // of those
    std::size_t in_front = 0;   // bytes without access
    std::size_t behind = 0;

    bool release() const;  // with what lies around it
  };

  //   L1  (used + promised) * 4 <= capacity * 3
  //   L2  an entry stands at or behind its hash place, with no empty entry between
  struct Shard {
    os::Lock lock{os::LockRank::kMappings};
    Entry* entries = nullptr;
    std::size_t capacity = 0;  // a power of two, or 0
    std::size_t used = 0;
    std::size_t promised = 0;  // room that somebody will use for sure

    // Of any length if `bytes` is 0.
    Entry* find(std::uintptr_t address, State state, std::size_t bytes = 0);
    bool insert(Entry entry) {
      if (!make_room()) return false;
      place(entry);
      return true;
    }
    void erase(Entry* entry);
    bool make_room();
    void place(Entry entry);
    std::size_t place_of(std::uintptr_t address) const;
  };

  static constexpr std::size_t kShards = 16;

  Shard& shard_of(const void* pointer);
  static bool map(std::size_t bytes, std::size_t alignment, Entry* entry);
  static bool reserve_guarded(std::size_t length, std::size_t alignment, Entry* entry);
  static bool map_guarded(std::size_t length, std::size_t alignment, Entry* entry);
  void* enter(const Entry& entry);
  void let_wait(const Entry& entry);
  std::size_t end_wait(void* pointer);
  Entry entry_of(const void* pointer);
  void count_padding(std::ptrdiff_t bytes);
  bool resize_in_place(void* pointer, std::size_t old_length, std::size_t length);
  void* move(void* pointer, std::size_t old_length, std::size_t length);
  bool promise_room();
  void end_promise(const Entry* entry);
  bool set_state(const void* pointer, std::size_t bytes, State from, State to);
  void leave(const void* pointer, std::size_t bytes, bool left);
  void unmap(const Entry& entry);
  bool release_stranded();
  void count_change(std::ptrdiff_t count, std::ptrdiff_t bytes);

  static constexpr std::size_t kMostWaiting = 64;
  static constexpr std::size_t kLargestWaiting = 16_MiB;  // of address space

  Shard shards_[kShards];
  os::Lock waiting_lock_{os::LockRank::kMappings};
  void* waiting_[kMostWaiting] = {};  // a ring
  std::size_t next_waiting_ = 0;
  std::size_t stranded_ = 0;  // entries in that state; relaxed
  LargeFigures figures_;      // relaxed
};

extern LargeMappings large_mappings;

}  // namespace arenite
