#include "malloc/allocate.h"

#include <cstring>
#include <optional>

#include "arena/damage_log.h"
#include "arena/registry.h"
#include "base/zero.h"
#include "heap/block.h"
#include "heap/footprint.h"
#include "heap/large_mappings.h"
#include "heap/sampled_slots.h"
#include "malloc/background.h"
#include "malloc/foreign.h"
#include "malloc/hardened.h"
#include "malloc/pressure.h"
#include "malloc/process.h"
#include "malloc/report.h"
#include "malloc/sampling.h"
#include "os/errno_keeper.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {

namespace {

constexpr std::size_t kMinMovingGrowth = 1_MiB;

// What a block must have, with its canary if there are any.
std::size_t bytes_for(std::size_t size) { return options.hardened(Feature::canary) ? with_canary(size) : size; }

// A slot that has been written to since it was freed stays where it is, and another one is taken.
void* allocate_slot(ClassIndex cls) {
  for (;;) {
    void* const slot = ready_cache().take_slow(cls);
    if (slot == nullptr || !options.hardened(Feature::zero) || options.perturb() != 0) return slot;
    if (is_zero(slot, size_class(cls).slot_size)) return slot;
    report_misuse(Misuse::kWriteAfterFree, slot);
  }
}

TakenRun take_run_from_others(UnitCount count, UnitCount alignment) {
  TakenRun run;
  registry.for_each([&](Arena& arena) {
    if (run.pointer == nullptr) run = arena.take_run(count, alignment, /*may_grow=*/true);
  });
  return run;
}

bool mapping_allowed() { return large_mappings.figures().count < options.mmap_max(); }

Allocation allocate_mapping(std::size_t size, std::size_t alignment) {
  return {.pointer = large_mappings.take(size, alignment), .zeroed = true};
}

// Above the mmap threshold a heap serves what it has room for already; what it would have to grow for is mapped.
Allocation allocate_pages(std::size_t size, std::size_t alignment) {
  const UnitCount count = units_for(size);
  const UnitCount unit_alignment{static_cast<std::uint32_t>(alignment > kUnitSize ? alignment / kUnitSize : 1)};
  const std::size_t worst = saturating_add(size, alignment);
  const bool fits_heap = worst <= heap_capacity(HeapKind::kRuns).value * kUnitSize;
  const bool guarded = options.hardened(Feature::guards);
  const bool prefers_mapping = (guarded || size >= options.mmap_threshold()) && mapping_allowed();
  TakenRun run;
  if (fits_heap && !(prefers_mapping && guarded)) {
    run = ready_cache().take_run(count, unit_alignment, /*may_grow=*/!prefers_mapping);
  }
  if (run.pointer == nullptr && prefers_mapping) {
    if (const Allocation mapping = allocate_mapping(size, alignment); mapping.pointer != nullptr) return mapping;
  }
  if (run.pointer == nullptr && fits_heap) run = take_run_from_others(count, unit_alignment);
  if (run.pointer != nullptr) return {.pointer = run.pointer, .zeroed = run.zeroed};
  return prefers_mapping ? Allocation{} : allocate_mapping(size, alignment);
}

Allocation try_allocate(std::size_t size, std::size_t alignment, BlockOrigin origin) {
  if (size == 0 && options.hardened(Feature::zero_size) && mapping_allowed()) {
    if (void* const block = large_mappings.take_untouchable(alignment); block != nullptr) return {block, true};
  }
  if (void* const block = take_sampled(size, alignment, origin); block != nullptr) return {block, true};
  const std::size_t bytes = bytes_for(size);
  const ClassIndex cls = class_for_aligned(bytes, alignment);
  if (cls.value == 0) return allocate_pages(bytes, alignment);
  void* const slot = allocate_slot(cls);
  if (slot != nullptr) return {.pointer = slot, .zeroed = options.hardened(Feature::zero)};
  return allocate_mapping(bytes, alignment);  // smaller than any heap could still be
}

bool has_canary(const Block& block) {
  const bool is_usual =
      block.kind == BlockKind::kSlot || block.kind == BlockKind::kRun || block.kind == BlockKind::kMapping;
  return is_usual && options.hardened(Feature::canary);
}

// The last step of an allocation, and of a resize.
void mark_block(void* pointer, const Block& block, std::size_t size, BlockOrigin origin) {
  if (!has_canary(block)) return;
  set_canary(pointer, block.bytes, size, options.hardened(Feature::kinds) ? origin : BlockOrigin::kMalloc);
}

void mark_block(void* pointer, std::size_t size, BlockOrigin origin) {
  if (options.hardened(Feature::canary)) mark_block(pointer, find_block(pointer), size, origin);
}

// What the program may use of a block, as far as is known, and whether that is in order.
CanaryState inspect(const void* pointer, const Block& block) {
  if (block.kind == BlockKind::kSampled) {
    const SampledBlock& sampled = sampled_slots.around(pointer);
    return {.is_whole = sampled_slots.is_whole(sampled), .requested = sampled.requested, .origin = sampled.origin};
  }
  if (!has_canary(block)) return {.is_whole = true, .requested = block.bytes};
  return read_canary(pointer, block.bytes);
}

// What M_PERTURB asks for; 0 is off.
void fill_freed(void* pointer, std::size_t bytes) {
  if (const std::size_t byte = options.perturb(); ARENITE_UNLIKELY(byte != 0)) {
    std::memset(pointer, static_cast<int>(byte), bytes);
  }
}

// A thread is not attached for its first few frees: they may come at its very end, when nobody would detach it any
// more.
ThreadCache& cache_for_giving() {
  ThreadCache& cache = ThreadCache::current();
  return cache.is_new() && !cache.note_early_give() ? cache : ready_cache();
}

void give_back(void* pointer, const Block& block) {
  void* refused = nullptr;
  switch (block.kind) {
    case BlockKind::kSlot:
      if (options.hardened(Feature::zero)) std::memset(pointer, 0, block.bytes);
      fill_freed(pointer, block.bytes);
      refused = cache_for_giving().give_slow(pointer, block.byte.cls(), block.heap.arena());
      break;
    case BlockKind::kRun:
      fill_freed(pointer, block.bytes);
      if (!registry.find(block.heap.arena())->give_run(pointer)) refused = pointer;
      break;
    case BlockKind::kMapping:
    case BlockKind::kUntouchable:
      if (const std::size_t bytes = large_mappings.give(pointer); bytes != 0) {
        if (!options.hardened(Feature::guards)) options.follow_freed_mapping(bytes);
      } else {
        refused = pointer;
      }
      break;
    case BlockKind::kSampled:
      if (!give_sampled(pointer)) refused = pointer;
      break;
    case BlockKind::kNone:
      break;
  }
  // Two threads gave it back at the same time; the arena has noticed the second.
  if (refused != nullptr) report_misuse(Misuse::kDoubleFree, refused);
  report_damage_if_found();
}

// A smaller size stays in place unless more than half of the slot would be wasted.
bool fits_slot(const Block& block, std::size_t size) {
  return size <= block.bytes && (size * 2 > block.bytes || block.bytes <= 4 * kMinSlotSize);
}

// Set once a block had to stay larger than reallocate() wanted it, since memory was out: sizes are then no proof of
// misuse.
bool shrink_was_refused = false;

// Whether a block at `pointer` can have been asked for with `alignment`.
bool has_alignment(const void* pointer, const Block& block, std::size_t alignment) {
  if (!is_aligned(address_of(pointer), alignment)) return false;
  return block.kind != BlockKind::kSlot || (alignment <= kUnitSize && is_aligned(block.bytes, alignment));
}

// Whether it can have been asked for with `size`, and resized by `rule`.
bool has_size(const Block& block, std::size_t requested, std::size_t size, std::size_t alignment, SizeRule rule) {
  const bool resized = rule == SizeRule::kResized;
  if (resized && size <= requested && relaxed_load(&shrink_was_refused)) return true;
  if (options.hardened(Feature::canary)) return size == requested;
  const ClassIndex cls = class_for_aligned(size, alignment);
  switch (block.kind) {
    case BlockKind::kSlot:
      return block.byte.cls() == cls || (resized && fits_slot(block, size));
    case BlockKind::kRun:
      return (resized || cls.value == 0) && block.bytes == units_for(size).value * kUnitSize;
    case BlockKind::kMapping:
      return LargeMappings::fits(size, block.bytes);
    case BlockKind::kUntouchable:
      return size == 0;
    case BlockKind::kSampled:
      return size == requested;
    case BlockKind::kNone:
      break;
  }
  return false;
}

// The contained arena that the address lies in, also one that is contained just now since its books are seen to be
// damaged: they then say nothing about the address. Null if it lies in none.
Arena* find_contained(const void* pointer) {
  const HeapEntry entry = lookup_heap(pointer);
  Arena* const arena = entry.is_heap() ? registry.find(entry.arena()) : nullptr;
  if (arena == nullptr) return nullptr;
  Heap& heap = Heap::of(pointer);
  if (!arena->contained() && !heap.is_heap_of(entry.arena())) arena->contain(Damage::kHeap, &heap);
  return arena->contained() ? arena : nullptr;
}

// A block of a contained arena is left where it is.
bool drop_contained(const void* pointer) {
  Arena* const arena = find_contained(pointer);
  if (arena == nullptr) return false;
  arena->note_dropped(1);
  report_damage_if_found();
  return true;
}

// What is wrong with giving the block back; nothing if it is in order.
std::optional<Misuse> fault_of(const void* pointer, const Block& block, std::size_t alignment, BlockOrigin origin) {
  if (block.kind == BlockKind::kNone) return classify_bad_free(block);
  if (!has_alignment(pointer, block, alignment)) return Misuse::kInvalidFree;
  if (ARENITE_LIKELY(options.hardening() == 0)) return {};
  const CanaryState state = inspect(pointer, block);
  if (!state.is_whole) return Misuse::kOverflow;
  const bool knows_origin = options.hardened(Feature::kinds) && block.kind != BlockKind::kUntouchable;
  if (knows_origin && state.origin != origin) return Misuse::kWrongFunction;
  return {};
}

// The block that starts at `pointer`, to be given back; kNone if there is nothing to do, or if that would be misuse,
// which has then been reported.
Block block_to_give(void* pointer, std::size_t alignment, BlockOrigin origin) {
  if (pointer == nullptr) return {};
  ensure_started();
  const Block block = find_block(pointer);
  if (ARENITE_UNLIKELY(block.kind == BlockKind::kNone) && is_foreign(pointer, block)) {
    give_foreign(pointer);
    return {};
  }
  const std::optional<Misuse> fault = fault_of(pointer, block, alignment, origin);
  if (ARENITE_LIKELY(!fault.has_value())) return block;
  if (block.kind != BlockKind::kNone || !drop_contained(pointer)) report_misuse(*fault, pointer);
  return {};
}

// A guarded mapping cannot be resized: it stays where it is while no more than half of it would be wasted.
bool fits_guarded(const Block& block, std::size_t size) { return size <= block.bytes && size * 2 > block.bytes; }

// The pointer if the block could be given its new size without copying, else null.
void* resize_without_copy(void* pointer, const Block& block, std::size_t size) {
  switch (block.kind) {
    case BlockKind::kSlot:
      return fits_slot(block, size) ? pointer : nullptr;
    case BlockKind::kUntouchable:
    case BlockKind::kSampled:
      return nullptr;
    case BlockKind::kRun:
      if (size * 2 <= kMaxSlotSize || size > heap_capacity(HeapKind::kRuns).value * kUnitSize) return nullptr;
      return registry.find(block.heap.arena())->resize_run(pointer, units_for(size)) ? pointer : nullptr;
    case BlockKind::kMapping:
      if (size * 2 <= block.bytes && size < options.mmap_threshold()) return nullptr;
      if (options.hardened(Feature::guards)) return fits_guarded(block, size) ? pointer : nullptr;
      return large_mappings.resize(pointer, size);
    case BlockKind::kNone:
      break;
  }
  return nullptr;
}

// Where a block that grows moves to: a large one to a mapping, whose pages can be moved the next time.
Allocation allocate_for_growth(std::size_t size, std::size_t old_size) {
  if (size > old_size && size >= kMinMovingGrowth && mapping_allowed()) {
    // What cannot be resized is made larger than needed, so that growing in steps does not copy each time.
    const std::size_t spare = options.hardened(Feature::guards) ? size / 8 : 0;
    const Allocation mapping = allocate_mapping(bytes_for(saturating_add(size, spare)), kMinAlignment);
    if (mapping.pointer != nullptr) {
      mark_block(mapping.pointer, size, BlockOrigin::kMalloc);
      return mapping;
    }
  }
  return allocate(size, kMinAlignment);
}

// A block of libc's becomes one of arenite's. Null, and the block as it was, if there is no memory.
void* bring_home(void* pointer, std::size_t size) {
  void* const block = allocate(size, kMinAlignment).pointer;
  if (block == nullptr) return nullptr;
  const std::size_t old_size = usable_size_of_foreign(pointer);
  std::memcpy(block, pointer, size < old_size ? size : old_size);
  give_foreign(pointer);
  return block;
}

// What take_hardened() has refused.
ARENITE_NOINLINE Allocation allocate_any(std::size_t size, std::size_t alignment, BlockOrigin origin) {
  const os::ErrnoKeeper keeper;
  ensure_started();
  constexpr std::size_t kAddressSpace = std::size_t{1} << kPlatform.address_bits;
  if (size >= kAddressSpace || alignment >= kAddressSpace) return {};
  start_background_if_wanted();
  Allocation result = try_allocate(size, alignment, origin);
  if (ARENITE_UNLIKELY(result.pointer == nullptr)) {
    relieve_pressure();
    result = try_allocate(size, alignment, origin);
  }
  if (ARENITE_UNLIKELY(result.pointer == nullptr)) footprint.note_refusal();
  report_damage_if_found();
  if (result.pointer != nullptr && options.perturb() != 0) {
    std::memset(result.pointer, static_cast<int>(~options.perturb() & 0xff), size);
    result.zeroed = false;
  }
  if (result.pointer != nullptr) mark_block(result.pointer, size, origin);
  return result;
}

}  // namespace

Allocation allocate(std::size_t size, std::size_t alignment, BlockOrigin origin) {
  if (alignment <= kMinAlignment) {
    void* const slot = take_hardened(size, origin);
    if (slot != nullptr) return {.pointer = slot, .zeroed = options.hardened(Feature::zero)};
  }
  return allocate_any(size, alignment, origin);
}

void deallocate(void* pointer, BlockOrigin origin) {
  if (!give_hardened(pointer, origin, kAnySize)) deallocate_aligned(pointer, /*alignment=*/1, origin);
}

void deallocate_sized(void* pointer, std::size_t size, std::size_t alignment, SizeRule rule, BlockOrigin origin) {
  if (alignment <= kMinAlignment && give_hardened(pointer, origin, size)) return;
  const os::ErrnoKeeper keeper;
  const Block block = block_to_give(pointer, alignment, origin);
  if (block.kind == BlockKind::kNone) return;
  const std::size_t requested = inspect(pointer, block).requested;
  if (!has_size(block, requested, size, alignment, rule)) return report_misuse(Misuse::kInvalidSize, pointer);
  give_back(pointer, block);
}

void deallocate_aligned(void* pointer, std::size_t alignment, BlockOrigin origin) {
  const os::ErrnoKeeper keeper;
  give_back(pointer, block_to_give(pointer, alignment, origin));
}

void set_origin(void* pointer, BlockOrigin origin) {
  mark_block(pointer, inspect(pointer, find_block(pointer)).requested, origin);
}

Resized reallocate(void* pointer, std::size_t size) {
  const os::ErrnoKeeper keeper;
  ensure_started();
  const Block block = find_block(pointer);
  if (block.kind == BlockKind::kNone) {
    if (find_contained(pointer) != nullptr) return {};  // how long it is, nobody knows
    if (is_foreign(pointer, block)) return {.pointer = bring_home(pointer, size)};
    report_misuse(Misuse::kInvalidRealloc, pointer);
    return {.pointer = nullptr, .misused = true};
  }
  const CanaryState state = inspect(pointer, block);
  if (!state.is_whole || state.origin != BlockOrigin::kMalloc) {
    report_misuse(state.is_whole ? Misuse::kWrongFunction : Misuse::kOverflow, pointer);
    return {.pointer = nullptr, .misused = true};
  }
  if (void* const same = resize_without_copy(pointer, block, bytes_for(size)); same != nullptr) {
    if (options.hardened(Feature::canary)) {
      const bool keeps_bytes = block.kind == BlockKind::kSlot;
      mark_block(same, keeps_bytes ? block : find_block(same), size, BlockOrigin::kMalloc);
    }
    return {.pointer = same};
  }
  const Allocation moved = allocate_for_growth(size, block.bytes);
  if (moved.pointer == nullptr) {
    if (bytes_for(size) > block.bytes) return {};
    relaxed_store(&shrink_was_refused, true);  // a block that has room for it can stay where it is
    mark_block(pointer, block, size, BlockOrigin::kMalloc);
    return {.pointer = pointer};
  }
  std::memcpy(moved.pointer, pointer, size < state.requested ? size : state.requested);
  give_back(pointer, block);
  return {.pointer = moved.pointer};
}

std::size_t usable_size(const void* pointer) {
  if (pointer == nullptr) return 0;
  const Block block = find_block(pointer);
  if (block.kind == BlockKind::kNone) return is_foreign(pointer, block) ? usable_size_of_foreign(pointer) : 0;
  return inspect(pointer, block).requested;
}

}  // namespace arenite
