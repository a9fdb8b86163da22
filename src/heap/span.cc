#include "heap/span.h"

#include "base/checks.h"
#include "heap/heap.h"
#include "os/memory.h"

namespace arenite {

namespace {

// What the functions below need of a span, computed once.
struct SpanView {
  SpanView(Heap& owner, UnitIndex first_unit)
      : heap(owner),
        first(first_unit),
        span(owner.span_at(first)),
        map(owner.map()),
        first_granule(owner.granule_of(pointer_at(owner.address_of_unit(first)))),
        granules_per_slot(size_class(span.cls).slot_size >> granule_bits(owner.kind())) {}

  std::size_t carved_end() const { return first_granule + span.carved * granules_per_slot; }
  void* slot_at(std::size_t granule) const { return pointer_at(heap.address_of_granule(granule)); }

  Heap& heap;
  UnitIndex first;
  Span& span;
  GranuleMap map;
  std::size_t first_granule;
  std::size_t granules_per_slot;
};

std::size_t take_free(const SpanView& view, void** out, std::size_t want) {
  const GranuleByte free = GranuleByte::free(view.span.cls);
  const GranuleByte cached = GranuleByte::cached(view.span.cls);
  const std::size_t end = view.carved_end();
  std::size_t behind = end;
  std::size_t taken = 0;
  view.map.for_each(view.first_granule + view.span.scan_from, end, free, [&](std::size_t granule) {
    view.map.set(granule, cached);
    out[taken++] = view.slot_at(granule);
    behind = granule + view.granules_per_slot;
    return taken < want;
  });
  view.span.scan_from = static_cast<std::uint16_t>((taken < want ? end : behind) - view.first_granule);
  view.span.free = static_cast<std::uint16_t>(view.span.free - taken);
  if (view.span.clean > view.span.free) view.span.clean = view.span.free;
  return taken;
}

std::size_t carve(const SpanView& view, void** out, std::size_t want) {
  const GranuleByte cached = GranuleByte::cached(view.span.cls);
  const std::size_t left = std::size_t{size_class(view.span.cls).slots_per_span} - view.span.carved;
  const std::size_t count = want < left ? want : left;
  std::size_t granule = view.carved_end();
  for (std::size_t index = 0; index < count; ++index, granule += view.granules_per_slot) {
    view.map.set(granule, cached);
    out[index] = view.slot_at(granule);
  }
  view.span.carved = static_cast<std::uint16_t>(view.span.carved + count);
  return count;
}

// Holds the free slots in [from, end), and the untouched ones if those follow, for the whole pages before `stop`.
void hold_stretch(const SpanView& view, std::size_t from, std::size_t end, std::uintptr_t stop, PurgeBatch* batch) {
  const std::uintptr_t start = align_up(view.heap.address_of_granule(from), os::page_size());
  stop = align_down(stop, os::page_size());
  if (start >= stop) return;
  Span& span = view.span;
  const GranuleByte cached = GranuleByte::cached(span.cls);
  const bool with_untouched = end == view.carved_end();
  const std::size_t uncarved = with_untouched ? std::size_t{size_class(span.cls).slots_per_span} - span.carved : 0;
  const std::size_t slots = (end - from) / view.granules_per_slot;
  for (std::size_t slot = 0; slot < slots + uncarved; ++slot) {
    view.map.set(from + slot * view.granules_per_slot, cached);
  }
  span.free = static_cast<std::uint16_t>(span.free - slots);
  span.carved = static_cast<std::uint16_t>(span.carved + uncarved);
  batch->add(PurgePiece{.kind = PurgePiece::Kind::kSlots,
                        .heap = &view.heap,
                        .start = start,
                        .bytes = stop - start,
                        .span = view.first,
                        .first_granule = static_cast<std::uint32_t>(from),
                        .slots = static_cast<std::uint16_t>(slots),
                        .uncarved = static_cast<std::uint16_t>(uncarved)});
}

}  // namespace

bool is_plausible(const Heap& heap, UnitIndex first) {
  const Span& span = heap.span_at(first);
  if (!heap.owns_class(span.cls) || span.units_before != 0) return false;
  const SizeClass& info = size_class(span.cls);
  return span.units == info.span_units && span.clean <= span.free && span.free <= span.carved &&
         span.carved <= info.slots_per_span;
}

// The other units' ways back to the first one tell its extent.
bool contain_span(Heap& heap, UnitIndex first, ClassIndex cls) {
  const std::uint32_t units = size_class(cls).span_units;
  if (first < first_unit_of(heap.kind()) || kHeapEnd < first + UnitCount{units}) return false;
  for (std::uint32_t before = 1; before < units; ++before) {
    if (heap.span_at(first + UnitCount{before}).units_before != before) return false;
  }
  heap.partial_spans(cls).clear(first.value);
  Span& span = heap.span_at(first);
  span = Span{};
  span.cls = kContainedClass;
  span.units = static_cast<std::uint16_t>(units);
  return true;
}

void open_span(Heap& heap, UnitRange range, ClassIndex cls) {
  for (std::uint32_t before = 0; before < range.count.value; ++before) {
    Span& unit = heap.span_at(range.first + UnitCount{before});
    unit = Span{};
    unit.units_before = static_cast<std::uint16_t>(before);
  }
  Span& span = heap.span_at(range.first);
  span.cls = cls;
  span.units = static_cast<std::uint16_t>(range.count.value);
  heap.partial_spans(cls).set(range.first.value);
}

std::size_t take_slots(Heap& heap, UnitIndex first, void** out, std::size_t want) {
  const SpanView view(heap, first);
  if (want == 0) return 0;
  std::size_t taken = view.span.free == 0 ? 0 : take_free(view, out, want);
  if (taken < want) taken += carve(view, out + taken, want - taken);
  if (!view.span.can_give()) heap.partial_spans(view.span.cls).clear(first.value);
  return taken;
}

bool hold_slots(Heap& heap, UnitIndex first, PurgeBatch* batch) {
  const SpanView view(heap, first);
  Span& span = view.span;
  // Huge pages are not taken apart for a few slots.
  if (span.unpurged() < os::page_size() || heap.granularity() > kMaxPageSize) return true;
  if (!batch->has_room(kMostPiecesOfSpan)) return false;
  const GranuleByte free = GranuleByte::free(span.cls);
  const std::size_t end = view.carved_end();
  std::size_t stretch = view.first_granule;  // all slots from here on are free
  for (std::size_t granule = view.first_granule; granule < end; granule += view.granules_per_slot) {
    if (view.map.get(granule) == free) continue;
    hold_stretch(view, stretch, granule, heap.address_of_granule(granule), batch);
    stretch = granule + view.granules_per_slot;
  }
  hold_stretch(view, stretch, end, heap.address_of_unit(first + UnitCount{span.units}), batch);
  span.clean = span.free;
  if (!span.can_give()) heap.partial_spans(span.cls).clear(first.value);
  return true;
}

bool end_slots(const PurgePiece& piece) {
  const SpanView view(*piece.heap, piece.span);
  Span& span = view.span;
  const GranuleByte free = GranuleByte::free(span.cls);
  const std::size_t uncarved_from = piece.first_granule + piece.slots * view.granules_per_slot;
  for (std::size_t granule = piece.first_granule; granule < uncarved_from; granule += view.granules_per_slot) {
    view.map.set(granule, free);
  }
  for (std::size_t slot = 0; slot < piece.uncarved; ++slot) {
    view.map.set(uncarved_from + slot * view.granules_per_slot, {});
  }
  const std::size_t offset = piece.first_granule - view.first_granule;
  if (offset < span.scan_from) span.scan_from = static_cast<std::uint16_t>(offset);
  span.carved = static_cast<std::uint16_t>(span.carved - piece.uncarved);
  span.free = static_cast<std::uint16_t>(span.free + piece.slots);
  if (piece.gone) span.clean = static_cast<std::uint16_t>(span.clean + piece.slots);
  if (span.can_give()) piece.heap->partial_spans(span.cls).set(piece.span.value);
  return span.all_free();
}

UnitRange close_span(Heap& heap, UnitIndex first) {
  const SpanView view(heap, first);
  ARENITE_DCHECK(view.span.all_free());
  view.map.erase(view.first_granule, view.carved_end() - view.first_granule);
  heap.partial_spans(view.span.cls).clear(first.value);
  const UnitRange range{.first = first, .count = {view.span.units}};
  view.span = Span{};
  return range;
}

void check_span(const Heap& const_heap, UnitIndex first) {
  auto& heap = const_cast<Heap&>(const_heap);
  const SpanView view(heap, first);
  const SizeClass& info = size_class(view.span.cls);
  ARENITE_CHECK(view.span.clean <= view.span.free && view.span.free <= view.span.carved &&
                view.span.carved <= info.slots_per_span);
  const std::size_t end = view.first_granule + ((view.span.units * kUnitSize) >> granule_bits(heap.kind()));
  std::size_t free_seen = 0;
  for (std::size_t granule = view.first_granule; granule < end; ++granule) {
    const GranuleByte byte = view.map.get(granule);
    const std::size_t offset = granule - view.first_granule;
    if (offset % view.granules_per_slot != 0 || granule >= view.carved_end()) {
      ARENITE_CHECK(byte.is_none());
      continue;
    }
    ARENITE_CHECK(byte.cls() == view.span.cls);
    if (byte.is_free()) {
      ++free_seen;
      ARENITE_CHECK(offset >= view.span.scan_from);
    }
  }
  ARENITE_CHECK(free_seen == view.span.free);
}

}  // namespace arenite
