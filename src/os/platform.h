// What depends on the platform stands here, in one row for each, and nowhere else.
#pragma once

#include <cstddef>

#include "base/bits.h"

namespace arenite {

struct Platform {
  unsigned address_bits;  // of user space
  unsigned heap_bits;     // a heap is 2^heap_bits bytes, aligned to that
};

#if defined(__x86_64__)
inline constexpr Platform kPlatform{.address_bits = 47, .heap_bits = 26};
#elif defined(__aarch64__)
inline constexpr Platform kPlatform{.address_bits = 48, .heap_bits = 26};
#else
#error "arenite knows x86-64 and aarch64; add a row for this platform"
#endif

inline constexpr std::size_t kHeapSize = std::size_t{1} << kPlatform.heap_bits;

// The largest page size of any supported kernel. Guard pages and metadata offsets are multiples of it, so they hold for
// every run-time page size.
inline constexpr std::size_t kMaxPageSize = 64_KiB;

// What malloc's result is aligned to.
inline constexpr std::size_t kMinAlignment = alignof(long double) > 2 * sizeof(void*) ? alignof(long double)
                                                                                      : 2 * sizeof(void*);

}  // namespace arenite
