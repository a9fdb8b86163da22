// Freed slots of any classes and owners that wait before they can be handed out again: the first in is the first out.
// They are marked cached already, so that freeing one again is caught.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "policy/size_classes.h"

namespace arenite {

class Quarantine {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::size_t kMostBytes = 64_KiB;

  struct Waiting {
    void* slot;
    ClassIndex cls;
  };

  bool empty() const { return count_ == 0; }
  // Whether the oldest must go before a slot of that class can come in.
  bool is_full_for(ClassIndex cls) const {
    return count_ == kCapacity || (count_ != 0 && bytes_ + size_class(cls).slot_size > kMostBytes);
  }

  void add(Waiting added) {
    entries_[(first_ + count_++) % kCapacity] = address_of(added.slot) << kClassBits | added.cls.value;
    bytes_ += size_class(added.cls).slot_size;
  }
  // The first that came in. It is not empty.
  Waiting oldest() const {
    const std::uint64_t entry = entries_[first_];
    return {pointer_at(entry >> kClassBits), {static_cast<std::uint8_t>(entry & ((1U << kClassBits) - 1))}};
  }
  Waiting take() {
    const Waiting taken = oldest();
    first_ = (first_ + 1) % kCapacity;
    --count_;
    bytes_ -= size_class(taken.cls).slot_size;
    return taken;
  }

 private:
  static constexpr unsigned kClassBits = 6;

  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t entries_[kCapacity];  // address << kClassBits | class
};

}  // namespace arenite
