// One byte for each granule of a heap: the class of the slot that starts there, and its state. The bytes are read and
// written by all threads without a lock, so every access is a relaxed atomic.
//
//   byte       state    meaning                                            set by
//   0          none     no slot starts here                                heap creation, span release
//   c          live     a slot (or run) of class c belongs to the program  malloc
//   0x80 | c   cached   in a magazine, a transfer stack or remote buffer   free, refill
//   0x40 | c   free     in its span                                        return to the span
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bits.h"
#include "base/relaxed.h"
#include "base/units.h"

namespace arenite {

// A byte of the map. Only the granule map's functions and the two fast paths take it apart.
struct GranuleByte {
  static constexpr std::uint8_t kCached = 0x80;
  static constexpr std::uint8_t kFree = 0x40;
  static constexpr std::uint8_t kClassMask = 0x3f;

  std::uint8_t value = 0;

  constexpr bool operator==(const GranuleByte&) const = default;
  static constexpr GranuleByte live(ClassIndex cls) { return {cls.value}; }
  static constexpr GranuleByte cached(ClassIndex cls) { return {static_cast<std::uint8_t>(kCached | cls.value)}; }
  static constexpr GranuleByte free(ClassIndex cls) { return {static_cast<std::uint8_t>(kFree | cls.value)}; }

  constexpr ClassIndex cls() const { return {static_cast<std::uint8_t>(value & kClassMask)}; }
  constexpr bool is_none() const { return value == 0; }
  constexpr bool is_live() const { return value != 0 && (value & (kCached | kFree)) == 0; }
  constexpr bool is_cached() const { return (value & kCached) != 0; }
  constexpr bool is_free() const { return (value & (kCached | kFree)) == kFree; }
};

// A piece of a heap's map.
class GranuleMap {
 public:
  explicit GranuleMap(std::uint8_t* bytes) : bytes_(bytes) {}

  GranuleByte get(std::size_t granule) const { return {relaxed_load(bytes_ + granule)}; }
  void set(std::size_t granule, GranuleByte byte) const { relaxed_store(bytes_ + granule, byte.value); }

  // All to 0. `first` and `count` are multiples of 8 unless the map is so coarse that a granule is a unit.
  void erase(std::size_t first, std::size_t count) const {
    for (std::size_t granule = first; granule < first + count; ++granule) {
      relaxed_store(bytes_ + granule, std::uint8_t{0});
    }
  }

  // The first granule in [from, end) that holds `byte`; `end` if there is none. Looks at eight bytes at a time: `from`
  // is rounded down to a multiple of 8, and the map is readable up to the next multiple of 8 behind `end`.
  std::size_t find(std::size_t from, std::size_t end, GranuleByte byte) const {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    constexpr std::uint64_t kLows = 0x7f7f7f7f7f7f7f7f;
    const std::uint64_t pattern = kOnes * byte.value;
    std::size_t at = align_down(from, 8);
    std::uint64_t ignored = ~std::uint64_t{0} << (8 * (from - at));
    for (; at < end; at += 8) {
      const std::uint64_t differs = __atomic_load_n(word_at(at), __ATOMIC_RELAXED) ^ pattern;
      // A byte of `differs` is 0 where the map has `byte`; exactly those bytes get their highest bit set. No carry
      // crosses bytes.
      const std::uint64_t equal = ~(((differs & kLows) + kLows) | differs | kLows) & ignored;
      if (equal != 0) {
        const std::size_t found = at + static_cast<std::size_t>(__builtin_ctzll(equal)) / 8;
        return found < end ? found : end;
      }
      ignored = ~std::uint64_t{0};
    }
    return end;
  }

 private:
  const std::uint64_t* word_at(std::size_t granule) const {
    return reinterpret_cast<const std::uint64_t*>(static_cast<const void*>(bytes_ + granule));
  }

  std::uint8_t* bytes_;
};

}  // namespace arenite
