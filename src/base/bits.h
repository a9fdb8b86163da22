// Arithmetic on sizes and addresses. Knows nothing of the library.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/attributes.h"

namespace arenite {

consteval std::size_t operator""_KiB(unsigned long long count) { return static_cast<std::size_t>(count) << 10; }
consteval std::size_t operator""_MiB(unsigned long long count) { return static_cast<std::size_t>(count) << 20; }

ARENITE_ALWAYS_INLINE std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
ARENITE_ALWAYS_INLINE void* pointer_at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// `alignment` is a power of two; the result may wrap to 0 near the end of the type, which callers exclude.
constexpr std::size_t align_down(std::size_t value, std::size_t alignment) { return value & ~(alignment - 1); }
constexpr std::size_t align_up(std::size_t value, std::size_t alignment) {
  return align_down(value + alignment - 1, alignment);
}
constexpr bool is_aligned(std::size_t value, std::size_t alignment) { return (value & (alignment - 1)) == 0; }

constexpr std::size_t ceil_div(std::size_t value, std::size_t divisor) { return (value + divisor - 1) / divisor; }

// The index of the highest set bit; `value` is not 0.
constexpr unsigned log2_floor(std::size_t value) { return static_cast<unsigned>(std::bit_width(value)) - 1U; }

// The sum, or SIZE_MAX where it would wrap.
constexpr std::size_t saturating_add(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

constexpr std::size_t saturating_mul(std::size_t a, std::size_t b) {
  std::size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

}  // namespace arenite
