// A thread cache used as the exported functions use it: the fast way, else the slow twin.
#pragma once

#include "cache/thread_cache.h"
#include "heap/block.h"

namespace arenite {

inline void* allocate(ThreadCache& cache, ClassIndex cls) {
  void* const slot = cache.take(cls.value, granule_bits(size_class(cls).kind));
  return slot != nullptr ? slot : cache.take_slow(cls);
}

// The slot that was refused; null if none was.
inline void* deallocate(ThreadCache& cache, void* pointer) {
  if (cache.give(pointer)) return nullptr;
  const Block block = find_block(pointer);
  if (block.kind != BlockKind::kSlot) return pointer;
  return cache.give_slow(pointer, block.byte.cls(), block.heap.arena());
}

}  // namespace arenite
