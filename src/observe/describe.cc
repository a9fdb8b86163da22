#include "observe/describe.h"

#include "heap/block.h"
#include "heap/heap.h"
#include "heap/sampled_slots.h"

namespace arenite {

namespace {

// Where in its slot span an address lies; no span if it lies in none.
struct SlotPlace {
  const Span* span = nullptr;
  std::uintptr_t slot = 0;  // the start of the slot around the address
};

SlotPlace slot_place_of(const Heap& heap, const void* pointer) {
  if (heap.kind() == HeapKind::kRuns) return {};
  const UnitIndex unit = heap.unit_of(pointer);
  const UnitIndex first = heap.span_start(unit);
  const Span& span = heap.span_at(first);
  if (!heap.owns_class(span.cls) || unit >= first + UnitCount{span.units}) return {};
  const std::uintptr_t start = heap.address_of_unit(first);
  const std::size_t slot_size = size_class(span.cls).slot_size;
  return {.span = &span, .slot = start + (address_of(pointer) - start) / slot_size * slot_size};
}

std::string_view state_of(GranuleByte byte) {
  if (byte.is_live()) return "live";
  return byte.is_none() ? "never used" : "freed";
}

void describe_slot(Description& description, const Heap& heap, const void* pointer, const SlotPlace& place) {
  const std::size_t offset = address_of(pointer) - place.slot;
  const GranuleByte byte = heap.map().get(heap.granule_of(pointer_at(place.slot)));
  if (offset != 0) description.add_decimal(offset).add(" bytes inside a ");
  description.add(state_of(byte)).add(" slot of ").add_decimal(size_class(place.span->cls).slot_size).add(" bytes");
  description.add(" (class ").add_decimal(place.span->cls.value).add(')');
  if (offset != 0) description.add(" at ").add_hex(place.slot);
}

void describe_run(Description& description, const Heap& heap, const void* pointer) {
  UnitIndex unit = heap.unit_of(pointer);
  const UnitIndex first = first_unit_of(HeapKind::kRuns);
  while (unit > first && heap.map().get(unit.value).is_none()) unit = unit - UnitCount{1};
  const GranuleByte byte = heap.map().get(unit.value);
  const std::size_t offset = address_of(pointer) - heap.address_of_unit(unit);
  const std::size_t bytes = heap.span_at(unit).units * kUnitSize;
  if (byte.is_live() && offset < bytes) {
    description.add_decimal(offset).add(" bytes inside a live run of ").add_decimal(bytes).add(" bytes at ");
    description.add_hex(heap.address_of_unit(unit));
  } else if (byte.is_free() && offset == 0) {
    description.add("a freed run");
  } else {
    description.add("in a heap's memory that is not in use");
  }
}

void describe_sampled(Description& description, const void* pointer) {
  const SampledBlock& block = sampled_slots.around(pointer);
  if (block.state == SampledBlock::State::kNone) {
    description.add("where sampled blocks will be");
    return;
  }
  const std::uintptr_t at = address_of(pointer);
  const std::uintptr_t end = block.start + block.requested;
  if (at < block.start) {
    description.add_decimal(block.start - at).add(" bytes in front of a ");
  } else if (at >= end) {
    description.add_decimal(at - end).add(" bytes behind the end of a ");
  } else if (at != block.start) {
    description.add_decimal(at - block.start).add(" bytes inside a ");
  }
  description.add(block.state == SampledBlock::State::kLive ? "live" : "freed").add(" sampled block of ");
  description.add_decimal(block.requested).add(" bytes at ").add_hex(block.start);
}

// What lies in front of a guard, and behind it: one of them has been left.
void describe_span_guard(Description& description, const Heap& heap, UnitIndex guard) {
  description.add("in a guard");
  const auto add_neighbour = [&](const char* where, UnitIndex unit) {
    const Span* const span = slot_place_of(heap, pointer_at(heap.address_of_unit(unit))).span;
    if (span == nullptr) return;
    description.add(where).add("slots of ").add_decimal(size_class(span->cls).slot_size).add(" bytes");
    description.add(" (class ").add_decimal(span->cls.value).add(')');
  };
  add_neighbour(" behind ", guard - UnitCount{1});
  add_neighbour(" and in front of ", guard + UnitCount{1});
}

}  // namespace

void describe(const void* pointer, Description* text) {
  Description& description = *text;
  const Block block = find_block(pointer);
  if (sampled_slots.contains(pointer)) {
    describe_sampled(description, pointer);
    return;
  }
  if (block.kind == BlockKind::kMapping) {
    description.add("a large mapping of ").add_decimal(block.bytes).add(" bytes");
    return;
  }
  if (!block.heap.is_heap()) {
    description.add("not in any heap of arenite and not the start of a large mapping");
    return;
  }
  const Heap& heap = Heap::of(pointer);
  if (heap.unit_of(pointer) < first_unit_of(heap.kind())) {
    description.add("in the guarded head of a heap");
  } else if (block.kind == BlockKind::kRun) {
    description.add("a live run of ").add_decimal(block.bytes).add(" bytes");
  } else if (heap.kind() == HeapKind::kRuns) {
    describe_run(description, heap, pointer);
  } else if (const UnitIndex unit = heap.unit_of(pointer); heap.span_at(unit).cls == kGuardClass) {
    describe_span_guard(description, heap, unit);
  } else if (const SlotPlace place = slot_place_of(heap, pointer); place.span != nullptr) {
    describe_slot(description, heap, pointer, place);
  } else {
    description.add("in a heap's memory that is not in use");
  }
  description.add(", arena ").add_decimal(block.heap.arena().value);
}

}  // namespace arenite
