// How much of the free top of a heap goes back to the system. One rule for all heaps of all arenas.
#pragma once

#include <cstddef>

#include "base/bits.h"

namespace arenite {

// Kept back besides the pad, so that the next small request need not grow the heap.
inline constexpr std::size_t kMinTop = 4_KiB;

struct TrimRule {
  std::size_t threshold;  // nothing is given back below this
  std::size_t pad;        // this much stays
};

// Bytes to give back of a top of `top` bytes: a multiple of `granularity`, never more than `top`. No sum here can wrap.
constexpr std::size_t trimmable(std::size_t top, TrimRule rule, std::size_t granularity) {
  if (top < rule.threshold || top <= rule.pad) return 0;
  const std::size_t behind_pad = top - rule.pad;
  return behind_pad <= kMinTop ? 0 : align_down(behind_pad - kMinTop, granularity);
}

}  // namespace arenite
