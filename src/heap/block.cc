#include "heap/block.h"

#include "heap/heap.h"
#include "heap/large_mappings.h"
#include "heap/sampled_slots.h"
#include "os/memory.h"

namespace arenite {

namespace {

Block find_sampled(const void* pointer) {
  Block block;
  const SampledBlock& sampled = sampled_slots.around(pointer);
  if (const SampledBlock* const live = sampled_slots.find(pointer); live != nullptr) {
    block.kind = BlockKind::kSampled;
    block.bytes = live->requested;
  } else {
    block.freed = sampled.state == SampledBlock::State::kFreed && sampled.start == address_of(pointer);
  }
  return block;
}

}  // namespace

Block find_block(const void* pointer) {
  Block block;
  const HeapEntry entry = lookup_heap(pointer);
  if (entry.is_heap() && Heap::of(pointer).reserves(pointer)) {
    block.heap = entry;
  } else {
    if (sampled_slots.contains(pointer)) return find_sampled(pointer);
    if (!is_aligned(address_of(pointer), os::page_size())) return block;
    const LargeBlock mapping = large_mappings.find(pointer);
    if (mapping.bytes == 0) return block;
    block.kind = mapping.untouchable ? BlockKind::kUntouchable : BlockKind::kMapping;
    block.bytes = mapping.untouchable ? 0 : mapping.bytes;
    return block;
  }
  // The table's word for the kind of heap, since the heap's header may be damaged.
  const unsigned granule_bits = block.heap.granule_bits();
  if (!is_aligned(address_of(pointer), std::size_t{1} << granule_bits)) return block;
  const Heap& heap = Heap::of(pointer);
  block.byte = heap.map().get(Heap::granule_of(pointer, granule_bits));
  if (!block.byte.is_live()) return block;
  if (block.byte.cls() == kRunClass) {
    block.kind = BlockKind::kRun;
    block.bytes = heap.span_at(heap.unit_of(pointer)).units * kUnitSize;
  } else {
    block.kind = BlockKind::kSlot;
    block.bytes = size_class(block.byte.cls()).slot_size;
  }
  return block;
}

}  // namespace arenite
