// A unit without access behind each slot span (feature `guards`): what runs over the end of a span's last slots, or
// down from those of the next one, faults. In the span table it is a span of its own, of class kGuardClass.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace arenite {

class Heap;

// Guards that are mappings of their own, of all heaps. Relaxed: it guides.
extern std::size_t mapped_span_guards;

// Whether spans are to have one: not where a page of the system is larger than a unit, or heaps have huge pages.
bool wants_span_guards();

// Makes one of a unit that has just been taken. False, and nothing done, if the system refuses, or has been given as
// many mappings for guards as it may.
bool place_span_guard(Heap& heap, UnitIndex unit);

// Ends the guard at `unit`, if there is one: then the unit is clean, and can be given back. False if there is none, and
// where the system will not make it usable: then it stays.
bool remove_span_guard(Heap& heap, UnitIndex unit);

}  // namespace arenite
