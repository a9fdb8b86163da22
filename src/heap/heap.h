// A heap: a reservation of address space, aligned to its size, that grows and shrinks at its top. Belongs to one arena
// for life; everything here but the granule map is guarded by that arena's lock.
//
//         base                                                        base + kHeapSize
//   guard | header | span descriptors | granule map | guard | units ..... top .. grown .. committed .. reserved |
//           Heap     one per unit       read by all           spans, runs   free  ready     no access
//
// Units below `top` are in use or in `free_units_`; units from `top` to `grown` are the free top, which trimming looks
// at. The map is readable over its whole length from the start, so that a lookup is safe for any address in the heap's
// range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bitmap.h"
#include "base/guard_word.h"
#include "base/protected_ptr.h"
#include "base/relaxed.h"
#include "base/units.h"
#include "heap/granule_map.h"
#include "heap/huge_use.h"
#include "heap/purge_batch.h"
#include "heap/span.h"
#include "heap/trim.h"
#include "os/overcommit.h"
#include "os/platform.h"
#include "policy/size_classes.h"

namespace arenite {

// The last pages of the window are the guard in front of a heap in the next one.
inline constexpr std::size_t kHeadGuard = kMaxPageSize;
inline constexpr std::size_t kMostReserved = kHeapSize - kHeadGuard;
inline constexpr UnitIndex kHeapEnd{static_cast<std::uint32_t>(kMostReserved / kUnitSize)};

inline constexpr std::size_t kSpanTableOffset = 16_KiB;
inline constexpr std::size_t kGranuleMapOffset = 128_KiB;

constexpr std::size_t map_bytes(HeapKind kind) { return kHeapSize >> granule_bits(kind); }
constexpr UnitIndex first_unit_of(HeapKind kind) {
  const std::size_t map_end = kGranuleMapOffset + align_up(map_bytes(kind), kMaxPageSize);
  return {static_cast<std::uint32_t>((map_end + kMaxPageSize) / kUnitSize)};
}
// The most units one request can get from a heap of a kind.
constexpr UnitCount heap_capacity(HeapKind kind) { return kHeapEnd - first_unit_of(kind); }

// How a heap takes address space and memory.
struct GrowthRule {
  std::size_t reservation;  // bytes to reserve for a new heap; less is tried where that fails
  std::size_t pad;          // bytes to grow by beyond what is needed
};

// Units that a heap has handed out.
struct TakenUnits {
  UnitRange range;
  std::uint32_t dirty;  // how many of them are not known to be zero
};

// What a heap has, in bytes or counts. Sums over heaps are an arena's figures.
struct HeapFigures {
  std::size_t reserved = 0;
  std::size_t committed = 0;   // units and map, readable and writable
  std::size_t grown = 0;       // units that count as obtained from the system
  std::size_t free_units = 0;  // bytes of free units below the top
  std::size_t free_unit_runs = 0;
  std::size_t top = 0;           // bytes of the free top
  std::size_t huge_padding = 0;  // writable beyond what was asked for, to fill huge pages
  HeapFigures& operator+=(const HeapFigures& other);
};

class alignas(kLinkAlignment) Heap {
 public:
  // A new heap of at least `capacity` units, entered in the heap table. Null if the system refuses.
  static Heap* create(HeapKind kind, ArenaId arena, UnitCount capacity, const GrowthRule& growth);

  // End a heap that has no units in use, nor is known to anybody. False, and nothing done, if the system refuses.
  bool destroy();

  // The heap that `pointer` lies in; only for addresses the heap table knows.
  static Heap& of(const void* pointer) {
    return *static_cast<Heap*>(pointer_at(align_down(address_of(pointer), kHeapSize)));
  }

  // Whether an address in the heap's range is the heap's: behind the reserved end the system may place other mappings.
  // Without the lock, it is sure for addresses that the program got from arenite.
  bool reserves(const void* pointer) const { return unit_of(pointer).value < relaxed_load(&reserved_.value); }

  HeapKind kind() const { return kind_; }
  ArenaId arena() const { return arena_; }
  const ProtectedPtr<Heap>& next() const { return next_; }
  void set_next(Heap* next) { next_.set(next); }
  // Whether the header can be right: cheap, before anything is done by it.
  bool is_whole(ArenaId arena) const;
  // The same for what never changes: without the lock.
  bool is_heap_of(ArenaId arena) const {
    return front_.is_whole() && back_.is_whole() && arena_ == arena && static_cast<std::size_t>(kind_) < kHeapKinds;
  }

  std::uintptr_t address_of_unit(UnitIndex unit) const { return address_of(this) + unit.value * kUnitSize; }
  UnitIndex unit_of(const void* pointer) const {
    return {static_cast<std::uint32_t>((address_of(pointer) & (kHeapSize - 1)) >> kUnitBits)};
  }

  GranuleMap map() const {
    return GranuleMap(static_cast<std::uint8_t*>(pointer_at(address_of(this) + kGranuleMapOffset)));
  }
  // In a heap of that granule: without a look at the header, which may be damaged.
  static std::size_t granule_of(const void* pointer, unsigned granule_bits) {
    return (address_of(pointer) & (kHeapSize - 1)) >> granule_bits;
  }
  std::size_t granule_of(const void* pointer) const { return granule_of(pointer, granule_bits(kind_)); }
  std::uintptr_t address_of_granule(std::size_t granule) const {
    return address_of(this) + (granule << granule_bits(kind_));
  }

  Span& span_at(UnitIndex unit) const {
    return static_cast<Span*>(pointer_at(address_of(this) + kSpanTableOffset))[unit.value];
  }
  // The first unit of the span that `unit` belongs to. Meaningful for units of slot spans only; some unit of the heap
  // in any case.
  UnitIndex span_start(UnitIndex unit) const {
    const std::uint32_t before = span_at(unit).units_before;
    return before > unit.value ? unit : unit - UnitCount{before};
  }

  // `count` units whose first is a multiple of `alignment` units: the lowest free run that fits, else the top. A count
  // of 0 means failure. Without growth, only units that are ready are looked at.
  TakenUnits take_units(UnitCount count, UnitCount alignment, const GrowthRule* growth);
  void give_units(UnitRange range);
  // The units directly behind `range`, if they are free. A count of 0 means that they are not.
  TakenUnits extend_units(UnitRange range, UnitCount more, const GrowthRule* growth);

  UnitIndex top() const { return top_; }
  UnitIndex grown() const { return grown_; }
  // Memory goes to and fro between the heap and the system in multiples of this.
  std::size_t granularity() const;
  // The bytes of the free top that the rule gives back.
  std::size_t trimmable_top(const TrimRule& rule) const;
  // Decommit them: the number of bytes. The commit charge falls.
  std::size_t decommit_top(const TrimRule& rule);
  // The top counts as obtained no longer than the rule says, if what is behind that is clean.
  void lower_grown(const TrimRule& rule);

  // Holds free runs that start at or behind `from`, for the pages of their dirty units in pieces of at least `least`
  // bytes, as long as the batch has room. Where to go on; the heap's end if nothing is left. `left` receives the bytes
  // of pieces that are too short.
  UnitIndex hold_units(UnitIndex from, std::size_t least, PurgeBatch* batch, std::size_t* left);
  // The same for the free top, from `from` on.
  UnitIndex hold_top(UnitIndex from, std::size_t least, PurgeBatch* batch, std::size_t* left);
  // The pages of the units have been given back.
  void note_purged(UnitRange range) { mark_clean(range); }
  // A held run is free again.
  void end_hold(UnitRange range);
  // Some held run; a count of 0 if there is none.
  UnitRange find_held() const;

  // Bytes of free slots that no purge has seen yet, in spans that have at least a page of them.
  std::size_t unpurged_slots() const;
  // Give back the address space behind the top, and the map of it; the number of bytes. The heap grows again where that
  // is still free.
  std::size_t release_reservation();

  bool owns_class(ClassIndex cls) const {
    return cls.value >= first_class_of(kind_) && cls.value <= kClassCount && size_class(cls).kind == kind_;
  }
  // The spans of `cls` that can give slots, by first unit.
  Bitmap<kUnitsPerHeap>& partial_spans(ClassIndex cls) { return partial_[cls.value - first_class_of(kind_)]; }

  // Each span and run below the top, by first unit.
  template <typename Action>
  void for_each_span(Action action) const {
    for (UnitIndex unit = first_unit_of(kind_); unit < top_;) {
      if (free_units_.test(unit.value)) {
        unit = {static_cast<std::uint32_t>(free_units_.next_clear(unit.value))};
        continue;
      }
      const UnitCount count{span_at(unit).units};
      if (count.value == 0) return;  // half opened by a thread that fork left behind
      action(unit);
      unit = unit + count;
    }
  }

  std::size_t grown_bytes() const { return (grown_ - first_unit_of(kind_)).value * kUnitSize; }
  HeapFigures figures() const;

  //   I1  first_unit <= top <= grown <= committed <= reserved
  //   I2  free_units_ has members in [first_unit, top) only, and not the unit below the top
  //   I3  no free run is longer than longest_free_
  //   I4  dirty_units_ has members in [first_unit, committed) only
  //   I5  the map byte of a free unit's granules is 0, but for freed runs' first units
  //   I6  each unit in [first_unit, top) is free or belongs to exactly one span or held run
  //   I7  partial_[c] has exactly the spans of class c that can give slots
  void check_invariants() const;

 private:
  Heap(HeapKind kind, ArenaId arena, UnitIndex reserved, HugeUse huge);  // in memory of zeros

  void* head_guard() const { return pointer_at(address_of(this) - kHeadGuard); }
  bool grow_to(UnitIndex end, const GrowthRule& growth);
  bool reserve_to(UnitIndex end);
  bool commit_to(UnitIndex end);
  bool commit_units(UnitIndex end);
  bool commit_piece(UnitIndex end, bool from_pool);
  void advise_huge(UnitIndex first, UnitIndex end);
  // Whether units up to `end` are ready, or have been made so.
  bool make_ready(UnitIndex end, const GrowthRule* growth);
  TakenUnits taken(UnitRange range);
  std::size_t release_behind_top();
  std::size_t release_map();
  std::size_t clean_bytes(UnitRange range) const;
  void mark_clean(UnitRange range);
  bool hold_pieces(UnitRange run, UnitIndex* from, std::size_t least, PurgeBatch* batch, std::size_t* left);
  void add_map_piece(UnitRange run, PurgeBatch* batch);

  GuardWord front_;
  HeapKind kind_;
  ArenaId arena_;
  bool head_guarded_ = false;
  HugeUse huge_;
  UnitIndex top_;
  UnitIndex grown_;
  UnitIndex committed_;
  UnitIndex reserved_;
  std::size_t map_committed_;  // granules whose map bytes are writable end here
  std::size_t longest_free_ = 0;
  ProtectedPtr<Heap> next_;
  GuardWord back_;
  // Empty at the start, since the memory below them comes zeroed.
  Bitmap<kUnitsPerHeap> free_units_;
  Bitmap<kUnitsPerHeap> dirty_units_;  // written since they came from the system
  Bitmap<kUnitsPerHeap> partial_[kMaxClassesPerKind];
};

inline bool give_slot(Heap& heap, UnitIndex first, void* slot) {
  Span& span = heap.span_at(first);
  const std::size_t granule = heap.granule_of(slot);
  const GranuleMap map = heap.map();
  if (map.get(granule) != GranuleByte::cached(span.cls)) return false;
  map.set(granule, GranuleByte::free(span.cls));
  if (!span.can_give()) heap.partial_spans(span.cls).set(first.value);
  const std::size_t offset = granule - (std::size_t{first.value} << (kUnitBits - granule_bits(heap.kind())));
  if (span.free == 0 || offset < span.scan_from) span.scan_from = static_cast<std::uint16_t>(offset);
  ++span.free;
  return true;
}

static_assert(sizeof(Heap) <= kSpanTableOffset);
static_assert(kSpanTableOffset + kUnitsPerHeap * sizeof(Span) <= kGranuleMapOffset);

}  // namespace arenite
