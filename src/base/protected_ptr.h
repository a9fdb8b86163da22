// A link of a singly linked list, stored so that overwriting it with a chosen address does not yield that address
// (Safe-Linking, Itkin 2020): (address of the field >> 12) XOR target XOR secret. Every singly linked list of the
// library uses this type; none of them passes through user memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/sealed.h"

namespace arenite {

// What a link points to stands at the start of a page: so of 4096 values that were not written by set(), one passes.
inline constexpr std::size_t kLinkAlignment = 4096;

template <typename T>
class ProtectedPtr {
 public:
  constexpr ProtectedPtr() = default;
  ProtectedPtr(const ProtectedPtr&) = delete;
  ProtectedPtr& operator=(const ProtectedPtr&) = delete;

  void set(T* target) { stored_ = target == nullptr ? 0 : address_of(target) ^ mask(); }

  // False if what is stored was not written by set().
  bool is_whole() const { return stored_ == 0 || is_aligned(stored_ ^ mask(), kLinkAlignment); }
  // Null as well if the link is not whole.
  T* get() const {
    static_assert(alignof(T) >= kLinkAlignment);
    return stored_ == 0 || !is_whole() ? nullptr : static_cast<T*>(pointer_at(stored_ ^ mask()));
  }

 private:
  std::uintptr_t mask() const { return (address_of(this) >> 12) ^ sealed.link_secret; }

  std::uintptr_t stored_ = 0;
};

}  // namespace arenite
