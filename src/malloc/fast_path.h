// The first step of every allocating function: the class by arithmetic, then the thread's magazine.
#pragma once

#include "cache/thread_cache.h"

namespace arenite {

// Null if the magazine is empty, if the size is 0, or if it is too large for a slot: the slow path then decides.
ARENITE_ALWAYS_INLINE void* take_fast(std::size_t size) {
  ThreadCache& cache = ThreadCache::current();
  const std::size_t last = size - 1;
  if (ARENITE_LIKELY(last < kExactSlotLimit)) {
    const auto cls = static_cast<unsigned>(last / kMinSlotSize) + 1;
    return cache.take(cls, granule_bits(HeapKind::kGranule16));
  }
  if (ARENITE_UNLIKELY(last >= kMaxSlotSize)) return nullptr;
  const HeapKind kind = last < 1_KiB ? HeapKind::kGranule64 : HeapKind::kGranule256;
  return cache.take(class_above_exact(size), granule_bits(kind));
}

}  // namespace arenite
