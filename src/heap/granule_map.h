// One byte for each granule of a heap: the class of the slot that starts there, and its state. The bytes are read and
// written by all threads without a lock, so every access is a relaxed atomic.
//
//   byte       state    meaning                                            set by
//   0          none     no slot starts here                                heap creation, span release
//   c          live     a slot (or run) of class c belongs to the program  malloc
//   0x80 | c   cached   in a magazine or a remote buffer of a thread       free, refill
//   0xc0 | c   stocked  in a transfer stack of the arena                   flush
//   0x40 | c   free     in its span                                        return to the span
//
// A slot that comes back to the arena must be cached. So when two threads have freed a slot at the same instant, both
// finding it live, the second of them is refused there.
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
  static constexpr GranuleByte stocked(ClassIndex cls) {
    return {static_cast<std::uint8_t>(kCached | kFree | cls.value)};
  }
  static constexpr GranuleByte free(ClassIndex cls) { return {static_cast<std::uint8_t>(kFree | cls.value)}; }

  constexpr ClassIndex cls() const { return {static_cast<std::uint8_t>(value & kClassMask)}; }
  constexpr bool is_none() const { return value == 0; }
  constexpr bool is_live() const { return value != 0 && (value & (kCached | kFree)) == 0; }
  constexpr bool is_cached_or_stocked() const { return (value & kCached) != 0; }
  constexpr bool is_free() const { return (value & (kCached | kFree)) == kFree; }
};

// A piece of a heap's map.
class GranuleMap {
 public:
  explicit GranuleMap(std::uint8_t* bytes) : bytes_(bytes) {}

  GranuleByte get(std::size_t granule) const { return {relaxed_load(bytes_ + granule)}; }
  void set(std::size_t granule, GranuleByte byte) const { relaxed_store(bytes_ + granule, byte.value); }

  // All to 0.
  void erase(std::size_t first, std::size_t count) const {
    std::size_t granule = first;
    const std::size_t end = first + count;
    for (; granule < end && !is_aligned(granule, 8); ++granule) set(granule, {});
    for (; granule + 8 <= end; granule += 8) __atomic_store_n(word_at(granule), 0, __ATOMIC_RELAXED);
    for (; granule < end; ++granule) set(granule, {});
  }

  // Which of the eight granules from `at`, a multiple of 8, hold `byte`: the highest bit of each such byte of the
  // result.
  std::uint64_t matches(std::size_t at, GranuleByte byte) const {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    constexpr std::uint64_t kLows = 0x7f7f7f7f7f7f7f7f;
    const std::uint64_t differs = __atomic_load_n(word_at(at), __ATOMIC_RELAXED) ^ (kOnes * byte.value);
    // A byte of `differs` is 0 where the map has `byte`; exactly those get their highest bit set. No carry crosses
    // bytes.
    return ~(((differs & kLows) + kLows) | differs | kLows);
  }

  // Calls `action(granule)` for the granules in [from, end) that hold `byte`, in order, until it returns false. Looks
  // at eight at a time: the map is readable from the multiple of 8 below `from` to the one above `end`.
  template <typename Action>
  void for_each(std::size_t from, std::size_t end, GranuleByte byte, Action action) const {
    std::size_t at = align_down(from, 8);
    std::uint64_t considered = ~std::uint64_t{0} << (8 * (from - at));
    for (; at < end; at += 8, considered = ~std::uint64_t{0}) {
      for (std::uint64_t left = matches(at, byte) & considered; left != 0; left &= left - 1) {
        const std::size_t granule = at + static_cast<std::size_t>(__builtin_ctzll(left)) / 8;
        if (granule >= end || !action(granule)) return;
      }
    }
  }

 private:
  std::uint64_t* word_at(std::size_t granule) const {
    return reinterpret_cast<std::uint64_t*>(static_cast<void*>(bytes_ + granule));
  }

  std::uint8_t* bytes_;
};

}  // namespace arenite
