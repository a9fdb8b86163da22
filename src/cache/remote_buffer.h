// Freed slots of other arenas on their way home. They are marked cached already, so that freeing one again is caught.
#pragma once

#include <cstddef>

#include "heap/heap_table.h"

namespace arenite {

class RemoteBuffer {
 public:
  static constexpr std::size_t kCapacity = 64;
  static constexpr std::size_t kMostBytes = 128_KiB;

  bool empty() const { return count_ == 0; }
  // Large slots fill it before it has kCapacity of them.
  bool full() const { return count_ == kCapacity || bytes_ >= kMostBytes; }
  void add(void* slot, std::size_t bytes) {
    slots_[count_++] = slot;
    bytes_ += bytes;
  }

  // The slots of one owner, moved to `out` (which has room for kCapacity); their number. The buffer is not empty.
  std::size_t take_one_owner(void** out, ArenaId* owner) {
    *owner = lookup_heap(slots_[0]).arena();
    std::size_t taken = 0;
    std::size_t kept = 0;
    for (std::size_t index = 0; index < count_; ++index) {
      void* const slot = slots_[index];
      if (lookup_heap(slot).arena() == *owner) {
        out[taken++] = slot;
      } else {
        slots_[kept++] = slot;
      }
    }
    count_ = kept;
    if (kept == 0) bytes_ = 0;
    return taken;
  }

 private:
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;  // that have come since the buffer was empty
  void* slots_[kCapacity];
};

}  // namespace arenite
