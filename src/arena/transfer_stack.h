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
    Stack& stack = stacks_[cls.value];
    if (!stack.open || stack.count == capacity(cls)) return false;
    slots_[kTransferStart[cls.value] + stack.count++] = slot;
    return true;
  }

  // Nothing more is pushed until somebody has tried to take.
  void close(ClassIndex cls) { stacks_[cls.value].open = false; }

  // The number taken: up to `want`, the last pushed first. Opens the stack.
  std::size_t pop(ClassIndex cls, void** out, std::size_t want) {
    Stack& stack = stacks_[cls.value];
    stack.open = true;
    stack.used = true;
    const std::size_t taken = want < stack.count ? want : stack.count;
    for (std::size_t index = 0; index < taken; ++index) out[index] = slots_[kTransferStart[cls.value] + --stack.count];
    return taken;
  }

  // Whether somebody has tried to take since the last such question.
  bool was_used(ClassIndex cls) {
    const bool used = stacks_[cls.value].used;
    stacks_[cls.value].used = false;
    return used;
  }

  std::size_t count(ClassIndex cls) const { return stacks_[cls.value].count; }
  static constexpr std::size_t capacity(ClassIndex cls) { return kTransferBatches * size_class(cls).batch; }

 private:
  struct Stack {
    std::uint16_t count = 0;
    bool open = false;
    bool used = false;
  };

  Stack stacks_[kClassCount + 1];
  void* slots_[kTransferStart[kClassCount + 1]];
};

}  // namespace arenite
