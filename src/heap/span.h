// A span: a run of units of one heap, cut into slots of one class, or given out whole (a run). Its descriptor stands in
// the heap's span table at the place of its first unit; the other units of a slot span hold only the way back to it.
// Guarded by the arena's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "heap/purge_batch.h"
#include "policy/size_classes.h"

namespace arenite {

class Heap;

struct Span {
  ClassIndex cls;              // 0: no span starts here
  std::uint16_t units_before;  // from the first unit of the span to this one
  std::uint16_t units;
  std::uint16_t carved;     // slots ever handed out; the rest of the span is untouched
  std::uint16_t free;       // carved slots that are in the span
  std::uint16_t clean;      // at least so many of the free slots were free when the span was purged last
  std::uint16_t scan_from;  // no free slot starts in a granule before this one, counted from the span's first

  bool can_give() const { return free != 0 || carved < size_class(cls).slots_per_span; }
  // Bytes of free slots that a purge has not seen free yet.
  std::size_t unpurged() const { return std::size_t{size_class(cls).slot_size} * (std::size_t{free} - clean); }
  bool all_free() const { return free == carved; }
};

static_assert(sizeof(Span) == 14);

// Whether the descriptor of a slot span can be right: cheap, before anything is done by it.
bool is_plausible(const Heap& heap, UnitIndex span);
// A span of `cls` whose descriptor is damaged gives and takes nothing any more. False if its extent cannot be told.
bool contain_span(Heap& heap, UnitIndex span, ClassIndex cls);

// A slot span of `cls` over `range`, which has just been taken from `heap`.
void open_span(Heap& heap, UnitRange range, ClassIndex cls);
// Up to `want` slots, lowest address first, marked cached: free ones, then untouched ones. The number taken.
std::size_t take_slots(Heap& heap, UnitIndex span, void** out, std::size_t want);
// A cached slot comes back. False, and nothing done, if its byte in the map says that it is not cached.
inline bool give_slot(Heap& heap, UnitIndex span, void* slot);  // in heap.h
// Holds free slots, and untouched ones, for the whole pages that nothing else lies in, if at least a page's worth of
// slots has come back since the last time, as long as the batch has room. False if it has not: then nothing was done.
bool hold_slots(Heap& heap, UnitIndex span, PurgeBatch* batch);
// The slots of a piece are free again. True if the whole span is.
bool end_slots(const PurgePiece& piece);
// Forget an all-free slot span; its units can then be given back.
UnitRange close_span(Heap& heap, UnitIndex span);

//   S0  clean <= free
//   S1  free <= carved <= slots_per_span of the class       S2  the map has exactly `free` free bytes in the span
//   S3  every byte in the span but those of carved slots is 0      S4  no free byte stands before scan_from
void check_span(const Heap& heap, UnitIndex span);

}  // namespace arenite
