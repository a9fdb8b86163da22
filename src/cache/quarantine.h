// Freed slots of any classes and owners that wait before they can be handed out again: the first in is the first out.
// They are marked cached already, so that freeing one again is caught.
#pragma once

#include <cstddef>

#include "base/bits.h"

namespace arenite {

class Quarantine {
 public:
  static constexpr std::size_t kCapacity = 512;
  static constexpr std::size_t kMostBytes = 256_KiB;

  bool empty() const { return count_ == 0; }
  // Whether the oldest must go before a slot of so many bytes can come in.
  bool is_full_for(std::size_t bytes) const {
    return count_ == kCapacity || (count_ != 0 && bytes_ + bytes > kMostBytes);
  }

  void add(void* slot, std::size_t bytes) {
    entries_[(first_ + count_++) % kCapacity] = {slot, bytes};
    bytes_ += bytes;
  }
  // The oldest. It is not empty.
  void* take() {
    const Entry taken = entries_[first_];
    first_ = (first_ + 1) % kCapacity;
    --count_;
    bytes_ -= taken.bytes;
    return taken.slot;
  }

 private:
  struct Entry {
    void* slot;
    std::size_t bytes;
  };

  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  Entry entries_[kCapacity];
};

}  // namespace arenite
