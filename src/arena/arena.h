// An arena: some heaps of each kind, the partly used spans in them, transfer stacks, one lock. The unit of ownership (a
// slot goes back to the arena it came from) and of containment. Threads attach to arenas through the registry. Every
// public function takes the lock itself; none of them calls up or reports.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena/damage_log.h"
#include "arena/transfer_stack.h"
#include "base/guard_word.h"
#include "base/protected_ptr.h"
#include "base/relaxed.h"
#include "heap/heap.h"
#include "os/lock.h"
#include "policy/purge.h"

namespace arenite {

// How many arenas share the floor of dirty memory, and what they have published of their slack. Relaxed: they guide.
extern std::size_t arenas_made;
extern std::size_t arenas_slack;

struct TakenRun {
  void* pointer = nullptr;
  bool zeroed = false;
};

// Dirty free memory, in bytes: what went back, and what did not.
struct Purged {
  std::size_t purged = 0;
  std::size_t left = 0;
};

struct ArenaFigures {
  std::size_t most_grown = 0;  // the most that heaps.grown has been
  HeapFigures heaps;           // sums over the arena's heaps
  std::size_t heap_count = 0;
  std::size_t live_slots = 0;  // belong to the program
  std::size_t live_bytes = 0;  // of slots and runs of the program
  std::size_t cached_slots = 0;
  std::size_t cached_bytes = 0;
  std::size_t contained_spans = 0;
  std::size_t free_slots = 0;  // in spans: carved and given back, or never handed out
  std::size_t free_bytes = 0;
};

class alignas(kLinkAlignment) Arena {
  GuardWord front_;  // the first of all

 public:
  explicit Arena(ArenaId id);

  ArenaId id() const { return id_; }
  os::Lock& lock() { return lock_; }

  // A contained arena gives nothing and takes nothing; what lives in it stays readable.
  bool contained() const { return relaxed_load(&contained_); }
  void contain() { relaxed_store(&contained_, true); }
  // Because of damage, which is noted for a report.
  void contain(Damage kind, const void* where);
  // Slots and runs that came back to it, or to one of its spans, after that.
  std::size_t dropped() const { return relaxed_load(&dropped_); }
  void note_dropped(std::size_t count) { __atomic_add_fetch(&dropped_, count, __ATOMIC_RELAXED); }

  // Up to `want` slots of a class, marked cached. At least one, unless the arena is contained or the system refuses.
  std::size_t take_slots(ClassIndex cls, void** out, std::size_t want);
  // Cached slots of this arena, of any classes, come back: into the transfer stacks while there is room, then into
  // their spans. The first whose map byte says that it is not cached is returned and left as it is; null if all were.
  void* give_slots(void* const* slots, std::size_t count);

  // A run of whole units, marked live. Without `may_grow`, only from memory that is ready.
  TakenRun take_run(UnitCount count, UnitCount alignment, bool may_grow);
  // False if no live run starts there.
  bool give_run(void* run);
  // Longer or shorter in place; false if that is not possible.
  bool resize_run(void* run, UnitCount count);

  // The arena has lost its last thread: what is on the way goes home, and pages go back if a purge is due.
  void settle();

  // All transfer stacks to the spans; then free pages to the system, but `pad` bytes of each top. The bytes released.
  std::size_t trim(std::size_t pad);
  // If memory that can be given back has been free since the last such call, gives it back, and what is stocked.
  void purge_idle();
  // In a forked child: free units that a thread of the parent was giving back are free again, unless the forking thread
  // itself is in the middle of a purge.
  void end_holds();
  // Unused address space to the system. The bytes released.
  std::size_t release_reservations();

  // What a purge now could give back, in bytes: for tests.
  std::size_t slack();
  ArenaFigures figures();
  void check_invariants();

  // The registry's: guarded by its lock.
  struct {
    std::uint32_t attached = 0;
    bool on_free_list = false;
    ProtectedPtr<Arena> next_free;
  } registered;

 private:
  struct UnitsOf {
    Heap* heap = nullptr;
    TakenUnits units;
  };

  template <typename Action>
  void for_each_heap(Action action) {
    for (const ProtectedPtr<Heap>& list : heaps_) {
      for (Heap* heap = follow(list); heap != nullptr; heap = follow(heap->next())) action(*heap);
    }
  }

  // What every public function asks first.
  bool is_usable();
  // The heap if it can be used; else null, and the arena is contained.
  Heap* checked(Heap* heap);
  // The heap that a link leads to; null at the end of a list, and after damage.
  Heap* follow(const ProtectedPtr<Heap>& link);
  Heap* first_heap(HeapKind kind) { return follow(heaps_[static_cast<std::size_t>(kind)]); }
  void contain_span(Heap& heap, UnitIndex span, ClassIndex cls);
  UnitsOf take_units(HeapKind kind, UnitCount count, UnitCount alignment, bool may_grow);
  void note_units(const TakenUnits& taken);
  void list_heap(Heap* added);
  void give_units(Heap& heap, UnitRange range);

  Heap* lowest_partial(ClassIndex cls);
  bool open_new_span(ClassIndex cls);
  void give_span(Heap& heap, UnitIndex first);
  std::size_t take_from_span(Heap& heap, UnitIndex span, ClassIndex cls, void** out, std::size_t want);
  std::size_t take_from_stock(ClassIndex cls, void** out, std::size_t want);
  bool give_back(Heap& heap, void* slot);
  bool give_to_span(Heap& heap, void* slot);
  bool drop_slot(Heap& heap, UnitIndex span, ClassIndex cls);
  void give_back_if_due();
  PurgeRule::Bound purge_bound() const;
  void publish_slack();
  void note_time_now_and_then();
  void purge_by_amount();
  Purged purge_units(os::PurgeWay way, std::size_t least, bool with_tops);
  std::size_t purge_slots(os::PurgeWay way);
  std::size_t trim_tops(const TrimRule& rule, os::PurgeWay way);
  std::size_t give_back_all(std::size_t pad);
  std::size_t purge(PurgeBatch& batch, os::PurgeWay way);
  std::size_t unpurged_slots();
  void note_growth();
  void flush_transfer_stack(ClassIndex cls);
  void flush_transfer_stacks();
  void flush_idle_transfer_stacks();
  void count_span(const Heap& heap, UnitIndex first, ArenaFigures* figures) const;

  ArenaId id_;
  bool contained_ = false;
  std::size_t dropped_ = 0;  // relaxed
  os::Lock lock_{os::LockRank::kArena};
  ProtectedPtr<Heap> heaps_[kHeapKinds];  // each list in order of address
  // No heap below this one has a partly used span of the class. Null: none at all.
  Heap* partial_hint_[kClassCount + 1] = {};
  PurgeRule purge_rule_;
  std::size_t published_slack_ = 0;
  std::uint32_t untimed_calls_ = 0;  // since the clock was read
  std::size_t timed_slack_ = 0;      // when it was
  bool top_is_due_ = false;          // a top has reached the trim threshold
  std::size_t most_grown_ = 0;
  GuardWord back_;  // behind what decides; a page further on would be a page more for each arena
  TransferStacks transfer_;
};

}  // namespace arenite
