// The short ways of a hardened process: what allocate() and deallocate() do with a slot that the thread's cache has or
// takes, in one piece each. They refuse whatever is odd, and do nothing in a process that is not hardened; the general
// ways look again and decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/zero.h"
#include "cache/lever.h"
#include "heap/canary.h"
#include "malloc/report.h"
#include "os/errno_keeper.h"
#include "policy/options.h"

namespace arenite {

// The features in force that the short ways know; all of them are chosen at the start.
class HardenedRules {
 public:
  HardenedRules() : features_(Options::hardening()) {}
  bool has(Feature feature) const { return (features_ & feature_bit(feature)) != 0; }
  BlockOrigin origin(BlockOrigin real) const { return has(Feature::kinds) ? real : BlockOrigin::kMalloc; }

 private:
  std::size_t features_;
};

// A slot for `size` bytes, with its canary. Null if the thread has none at hand.
ARENITE_ALWAYS_INLINE void* take_hardened(std::size_t size, BlockOrigin origin) {
  ThreadCache& cache = ThreadCache::current();
  if (!cache.has_lever() || options.perturb() != 0) return nullptr;
  const HardenedRules rules;
  const std::size_t extra = rules.has(Feature::canary) ? with_canary(0) : 0;
  if (size - 1 >= kMaxSlotSize - extra) return nullptr;  // 0 is more
  const ClassIndex cls = class_for(size + extra);
  void* const slot = cache.take_levered(cls);
  if (ARENITE_UNLIKELY(slot == nullptr)) return nullptr;
  const std::size_t slot_size = size_class(cls).slot_size;
  if (rules.has(Feature::zero) && ARENITE_UNLIKELY(!is_zero(slot, slot_size))) {
    report_misuse(Misuse::kWriteAfterFree, slot);  // the slot is not handed out again
    return nullptr;
  }
  if (extra != 0) set_slot_canary(slot, slot_size, size, rules.origin(origin));
  return slot;
}

inline constexpr std::size_t kAnySize = SIZE_MAX;

// Takes a slot back that is in order and, where a size is stated, was asked for with that size.
ARENITE_ALWAYS_INLINE bool give_hardened(void* pointer, BlockOrigin origin, std::size_t size) {
  ThreadCache& cache = ThreadCache::current();
  if (!cache.has_lever() || options.perturb() != 0) return false;
  const HeapEntry entry = lookup_heap(pointer);
  if (!entry.is_heap() || !is_aligned(address_of(pointer), std::size_t{1} << entry.granule_bits())) return false;
  const GranuleByte byte = Heap::of(pointer).map().get(Heap::granule_of(pointer, entry.granule_bits()));
  if (static_cast<std::uint8_t>(byte.value - 1) >= kClassCount) return false;  // not a live slot's
  const ClassIndex cls = byte.cls();
  const std::size_t slot_size = size_class(cls).slot_size;
  const HardenedRules rules;
  if (rules.has(Feature::canary)) {
    const CanaryState state = read_slot_canary(pointer, slot_size);
    const bool is_right =
        state.is_whole && state.origin == rules.origin(origin) && (size == kAnySize || size == state.requested);
    if (ARENITE_UNLIKELY(!is_right)) return false;
  } else if (size != kAnySize) {
    return false;
  }
  if (rules.has(Feature::zero)) std::memset(pointer, 0, slot_size);
  if (ARENITE_LIKELY(cache.give_levered(pointer, cls))) return true;
  const os::ErrnoKeeper keeper;
  if (void* const refused = cache.give_slow(pointer, cls, entry.arena()); refused != nullptr) {
    report_misuse(Misuse::kDoubleFree, refused);
  }
  return true;
}

}  // namespace arenite
