// A link of a singly linked list, stored so that overwriting it with a chosen address does not yield that address
// (Safe-Linking, Itkin 2020): (address of the field >> 12) XOR target XOR secret. Every singly linked list of the
// library uses this type; none of them passes through user memory.
#pragma once

#include <cstdint>

#include "base/bits.h"
#include "base/checks.h"

namespace arenite {

// Set once from random bytes before the first link is stored; never changes afterwards.
inline std::uintptr_t link_secret = 0;

template <typename T>
class ProtectedPtr {
 public:
  constexpr ProtectedPtr() = default;
  ProtectedPtr(const ProtectedPtr&) = delete;
  ProtectedPtr& operator=(const ProtectedPtr&) = delete;

  void set(T* target) { stored_ = target == nullptr ? 0 : address_of(target) ^ mask(); }

  // A stored value whose target is misaligned was not written by set(): the process ends rather than follow it.
  T* get() const {
    if (stored_ == 0) return nullptr;
    const std::uintptr_t target = stored_ ^ mask();
    ARENITE_CHECK(is_aligned(target, alignof(T)));
    return static_cast<T*>(pointer_at(target));
  }

 private:
  std::uintptr_t mask() const { return (address_of(this) >> 12) ^ link_secret; }

  std::uintptr_t stored_ = 0;
};

}  // namespace arenite
