// What a thread keeps for itself: its magazines, its remote buffer, its arena. The two hot functions of the library are
// here: take() is the heart of malloc, give() of free. They refuse whatever is odd; the slow twins look again and
// decide.
//
// state       arena     magazines       calls go
// kNew        none      closed          to attach(), once
// kAttaching  none      closed          to a borrowed arena (the system's functions may allocate while attaching)
// kCached     attached  open once used  the fast way; with the slow lever set, the slow way to the magazines
// kUncached   attached  closed          to the arena (thread_cache=0, perturb)
// kEnded      none      closed          to a borrowed arena: late destructors of the thread
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "arena/arena.h"
#include "base/attributes.h"
#include "cache/magazine.h"
#include "heap/heap.h"
#include "heap/heap_table.h"

namespace arenite {

// What a cache does beyond the fast paths; any of it needs the slow lever.
struct CacheRules {
  bool lever = false;       // the magazines are reached by the slow path only
  bool random = false;      // which slot of a magazine is taken is left to chance
  bool quarantine = false;  // freed slots wait before they can be taken
  // After about so many slots one is refused, so that the block is sampled; 0: none is.
  std::uint32_t sample_interval = 0;
};

class ThreadCache {
 public:
  constexpr ThreadCache() {
    for (void**& top : top_) top = closed_top();
  }

  static ThreadCache& current();

  // A slot of `cls`, marked live; null if the magazine is empty. `granule_bits` is that of the class's kind of heap.
  ARENITE_ALWAYS_INLINE void* take(unsigned cls, unsigned granule_bits);
  // Takes `pointer` back if it is a live slot of the thread's own arena whose magazine has room.
  ARENITE_ALWAYS_INLINE bool give(void* pointer) {
    return give_if(pointer, [](std::size_t) { return true; });
  }
  // The same, if `accepts(class)` also says so.
  template <typename Accepts>
  ARENITE_ALWAYS_INLINE bool give_if(void* pointer, Accepts accepts);

  bool is_new() const { return state_ == State::kNew; }
  // A thread that is new gives a slot. True once it has given so many that a cache is worth its while.
  bool note_early_give() { return ++early_gives_ > kEarlyGives; }
  // Get an arena and, if `cached`, magazines. Where the system refuses them, the thread goes on without.
  void attach(bool cached, CacheRules rules = {});

  // Whether its magazines are reached by the slow path only. Then these two are take() and give(): see cache/lever.h.
  bool has_lever() const { return rules_.lever; }
  ARENITE_ALWAYS_INLINE void* take_levered(ClassIndex cls);
  // Whether one was refused so that the block is sampled.
  bool is_sample_due();
  // A live slot of `cls`, of any arena.
  ARENITE_ALWAYS_INLINE bool give_levered(void* slot, ClassIndex cls);

  // As take(), whatever it takes: refills the magazine, asks the arena, then other arenas. Null if no arena can serve.
  void* take_slow(ClassIndex cls);
  // A live slot of any arena comes back. Returns a slot that an arena refused, since it was given back twice; else
  // null.
  void* give_slow(void* slot, ClassIndex cls, ArenaId owner);

  // A run from the thread's arena; without magazines the same.
  TakenRun take_run(UnitCount count, UnitCount alignment, bool may_grow);

  // Everything home; the magazines stay open. Returns a refused slot or null.
  void* flush();
  // Around fork: nobody drains the cache from outside, and in the child it is the calling thread's.
  void before_fork();
  // In a child for which there was no before_fork(), maybe in the middle of a slow path.
  void note_raw_fork();
  void after_fork_in_parent();
  void after_fork_in_child();
  // The thread ends: everything home, the arena detached, the store to the pool. Returns a refused slot or null.
  void* end();

  Arena* arena() const { return arena_; }

 private:
  static constexpr std::uint8_t kEarlyGives = 32;

  friend class CacheDrain;
  class SlowPath;
  class BriefUse;

  enum class State : std::uint8_t { kNew, kAttaching, kCached, kUncached, kEnded };

  // Where the top of a class stands. With the slow lever set, the fast paths see only closed magazines.
  void*** place_of_top(ClassIndex cls) { return rules_.lever ? &store_->tops[cls.value] : &top_[cls.value]; }
  // How often a thread looks for what is idle.
  bool is_time_to_look(std::uint32_t slow_paths) const {
    constexpr std::uint32_t kBetweenLooks = 16;
    constexpr std::uint32_t kWithLever = 1024;  // every call is a slow path
    return slow_paths % (rules_.lever ? kWithLever : kBetweenLooks) == 0;
  }
  void** top(ClassIndex cls) { return relaxed_load(place_of_top(cls)); }
  void set_top(ClassIndex cls, void** top) { relaxed_store(place_of_top(cls), top); }
  bool is_open(ClassIndex cls) { return top(cls) != closed_top(); }
  std::size_t held(ClassIndex cls) { return static_cast<std::size_t>(top(cls) - store_->first_entry(cls)); }
  void choose_next_sample();
  void open_magazine(ClassIndex cls);
  void close_magazines();
  void close_holes();
  void leave_damaged_store();
  void leave_contained_arena();
  ARENITE_ALWAYS_INLINE void* pop(ClassIndex cls);
  ARENITE_ALWAYS_INLINE bool keep_if_room(void* slot, ClassIndex cls);
  void* refill(ClassIndex cls);
  void* take_from(Arena& arena, ClassIndex cls);
  void* take_from_others(ClassIndex cls);
  void* keep(void* slot, ClassIndex cls, ArenaId owner);
  void* keep_oldest_of_quarantine();
  void* make_room(ClassIndex cls);
  void* flush_oldest(ClassIndex cls, std::size_t count);
  static void* flush_remote(MagazineStore& store);
  void* flush_all();
  void* flush_idle();

  //   C1  arena_tag_ is that of arena_, or kNoArenaTag       C2  store_ != null <=> state_ == kCached
  //   C3  top(c) is the closed one, or, when kCached and c has been used, lies in store_'s magazine of c; top_[0] is
  //   closed
  //   C4  rules_.lever => kCached, and all of top_ is closed
  // Relaxed: another thread may close a magazine, and open it again, while this one sleeps.
  void** top_[kClassCount + 1];
  std::uint32_t arena_tag_ = kNoArenaTag;
  State state_ = State::kNew;
  std::uint8_t early_gives_ = 0;
  CacheRules rules_;
  Arena* arena_ = nullptr;
  MagazineStore* store_ = nullptr;
};

extern thread_local constinit ThreadCache current_cache ARENITE_INITIAL_EXEC;

ARENITE_ALWAYS_INLINE ThreadCache& ThreadCache::current() { return current_cache; }

ARENITE_ALWAYS_INLINE std::uint8_t* map_byte_of(std::uintptr_t address, std::uintptr_t granule) {
  return static_cast<std::uint8_t*>(pointer_at((address & ~(kHeapSize - 1)) + kGranuleMapOffset + granule));
}

// The class tells the kind of heap: its header is not looked at, since it may be damaged.
inline GranuleByte mark_of(const void* slot, ClassIndex cls) {
  return Heap::of(slot).map().get(Heap::granule_of(slot, granule_bits(size_class(cls).kind)));
}
inline void set_mark(void* slot, ClassIndex cls, GranuleByte byte) {
  Heap::of(slot).map().set(Heap::granule_of(slot, granule_bits(size_class(cls).kind)), byte);
}

void* ThreadCache::take(unsigned cls, unsigned granule_bits) {
  void** const top = word_load(&top_[cls]);
  void* const slot = word_load(top - 1);
  if (ARENITE_UNLIKELY(slot == nullptr)) return nullptr;
  const std::uintptr_t address = address_of(slot);
  relaxed_store(map_byte_of(address, (address & (kHeapSize - 1)) >> granule_bits), static_cast<std::uint8_t>(cls));
  word_store(&top_[cls], top - 1);
  return slot;
}

template <typename Accepts>
bool ThreadCache::give_if(void* pointer, Accepts accepts) {
  const std::uintptr_t address = address_of(pointer);
  const std::uintptr_t index = address >> kPlatform.heap_bits;
  if (ARENITE_UNLIKELY(index >= kHeapTableEntries)) return false;
  const std::uint32_t shift = relaxed_load(&heap_table[index]) ^ arena_tag_;
  if (ARENITE_UNLIKELY(shift >= kOwnShiftLimit)) return false;
  // Rotated, not shifted: an address inside a granule becomes far too large, and the one bounds test refuses it.
  const std::uintptr_t granule = std::rotr(address & (kHeapSize - 1), static_cast<int>(shift));
  if (ARENITE_UNLIKELY(granule >= kHeapSize / kMinSlotSize)) return false;
  std::uint8_t* const byte = map_byte_of(address, granule);
  const std::size_t cls = relaxed_load(byte);  // 0 needs no test of its own: that magazine is always closed
  if (ARENITE_UNLIKELY(cls > kClassCount || !accepts(cls))) return false;
  void** const top = word_load(&top_[cls]);
  if (ARENITE_UNLIKELY(is_full_marker(word_load(top)))) return false;
  relaxed_store(byte, static_cast<std::uint8_t>(GranuleByte::kCached | cls));
  word_store(top, pointer);
  word_store(&top_[cls], top + 1);
  return true;
}

}  // namespace arenite
