// Addresses of stocked slots between the threads of an arena and its spans: a few batches for each class, so that a
// balanced flow of flushes and refills does not reach the spans. Guarded by the arena's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/size_classes.h"

namespace arenite {

inline constexpr std::size_t kTransferBatches = 4;

// Where in the array the stack of each class starts; the entry behind the last class is the length of the array.
inline constexpr std::array<std::uint16_t, kClassCount + 2> kTransferStart = [] {
  std::array<std::uint16_t, kClassCount + 2> start{};
  for (unsigned cls = 1; cls <= kClassCount; ++cls) {
    start[cls + 1] = static_cast<std::uint16_t>(start[cls] + kTransferBatches * kSizeClasses[cls].batch);
  }
  return start;
}();

class TransferStacks {
 public:
  // False if the stack is full, or closed.
  bool push(ClassIndex cls, void* slot) {
    if (!open_[cls.value] || counts_[cls.value] == capacity(cls)) return false;
    slots_[kTransferStart[cls.value] + counts_[cls.value]++] = slot;
    return true;
  }

  // Nothing more is pushed until somebody has tried to take.
  void close(ClassIndex cls) { open_[cls.value] = false; }

  // The number taken: up to `want`, the last pushed first. Opens the stack.
  std::size_t pop(ClassIndex cls, void** out, std::size_t want) {
    open_[cls.value] = true;
    std::uint16_t& count = counts_[cls.value];
    const std::size_t taken = want < count ? want : count;
    for (std::size_t index = 0; index < taken; ++index) out[index] = slots_[kTransferStart[cls.value] + --count];
    return taken;
  }

  std::size_t count(ClassIndex cls) const { return counts_[cls.value]; }
  static constexpr std::size_t capacity(ClassIndex cls) { return kTransferBatches * size_class(cls).batch; }

 private:
  std::uint16_t counts_[kClassCount + 1] = {};
  bool open_[kClassCount + 1] = {};
  void* slots_[kTransferStart[kClassCount + 1]];
};

}  // namespace arenite
