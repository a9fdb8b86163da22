#include "heap/span_guard.h"

#include "base/relaxed.h"
#include "heap/heap.h"
#include "heap/huge_use.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {

constinit std::size_t mapped_span_guards = 0;

namespace {

// A guard by the kernel's means is part of the heap's mapping. Without those it is one of its own, and splits the
// heap's in two: so many take a quarter of the mappings that the kernel allows a process by default.
constexpr std::size_t kMostMapped = 8192;

bool map_guard(void* start) {
  if (__atomic_add_fetch(&mapped_span_guards, 1, __ATOMIC_RELAXED) <= kMostMapped && os::decommit(start, kUnitSize)) {
    return true;
  }
  __atomic_sub_fetch(&mapped_span_guards, 1, __ATOMIC_RELAXED);
  return false;
}

bool unmap_guard(void* start) {
  if (!os::commit(start, kUnitSize)) return false;
  __atomic_sub_fetch(&mapped_span_guards, 1, __ATOMIC_RELAXED);
  return true;
}

}  // namespace

bool wants_span_guards() {
  return options.hardened(Feature::guards) && os::page_size() <= kUnitSize && huge_use_of_heaps().page == 0;
}

bool place_span_guard(Heap& heap, UnitIndex unit) {
  void* const start = pointer_at(heap.address_of_unit(unit));
  const bool inside = os::guard(start, kUnitSize);
  if (!inside && !map_guard(start)) return false;
  Span& span = heap.span_at(unit);
  span = Span{};
  span.cls = kGuardClass;
  span.units = 1;
  span.carved = inside ? 0 : 1;  // a mapping of its own
  heap.note_purged({.first = unit, .count = {1}});
  return true;
}

bool remove_span_guard(Heap& heap, UnitIndex unit) {
  if (unit >= heap.top()) return false;
  Span& span = heap.span_at(unit);
  if (span.cls != kGuardClass) return false;
  void* const start = pointer_at(heap.address_of_unit(unit));
  if (span.carved == 0 ? !os::unguard(start, kUnitSize) : !unmap_guard(start)) return false;
  span = Span{};
  return true;
}

}  // namespace arenite
