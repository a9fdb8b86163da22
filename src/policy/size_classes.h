// The size classes: which slot size serves a request, and how slots of each size are kept. Decisions only; all
// constant.
//
//   class      slot sizes             step              worst internal waste      heap kind
//    1 .. 16   16 .. 256              16                15 bytes (6 % at 256)     16-byte granules
//   17 .. 24   320 .. 1024            4 per doubling    20 % (257 in 320)         64-byte granules
//   25 .. 44   1280 .. 32768          4 per doubling    20 % (1025 in 1280)       256-byte granules
//   kRunClass  whole units, above 32 KiB                16 KiB - 1, never touched  runs
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/units.h"
#include "os/platform.h"

namespace arenite {

inline constexpr unsigned kUnitBits = 14;
inline constexpr std::size_t kUnitSize = std::size_t{1} << kUnitBits;
inline constexpr std::size_t kUnitsPerHeap = kHeapSize / kUnitSize;

inline constexpr std::size_t kMinSlotSize = 16;
inline constexpr std::size_t kExactSlotLimit = 256;  // classes are exact to 16 bytes up to here
inline constexpr std::size_t kMaxSlotSize = 32_KiB;  // larger requests are runs or large mappings
inline constexpr unsigned kClassCount = 44;
inline constexpr ClassIndex kRunClass{63};
inline constexpr ClassIndex kHeldClass{62};       // free units that are being given back: not a class of any slot
inline constexpr ClassIndex kContainedClass{61};  // of a span that was found damaged
inline constexpr ClassIndex kGuardClass{60};      // a unit without access behind a slot span

// The four kinds of heap, by what one byte of the granule map describes.
enum class HeapKind : std::uint8_t { kGranule16, kGranule64, kGranule256, kRuns };
inline constexpr std::size_t kHeapKinds = 4;
inline constexpr unsigned kGranuleBits[kHeapKinds] = {4, 6, 8, kUnitBits};

constexpr unsigned granule_bits(HeapKind kind) { return kGranuleBits[static_cast<std::size_t>(kind)]; }

// Above 256 bytes there are four classes for each doubling: the two bits behind the leading one of (size - 1) choose.
ARENITE_ALWAYS_INLINE constexpr unsigned class_above_exact(std::size_t size) {
  const std::size_t last = size - 1;
  const unsigned doubling = log2_floor(last);
  return 16 + (doubling - 8) * 4 + static_cast<unsigned>((last >> (doubling - 2)) & 3U) + 1;
}

// `size` is at most kMaxSlotSize; 0 is served like 1.
constexpr ClassIndex class_for(std::size_t size) {
  if (size > kExactSlotLimit) return {static_cast<std::uint8_t>(class_above_exact(size))};
  const std::size_t at_least_one = size == 0 ? 1 : size;
  return {static_cast<std::uint8_t>((at_least_one + kMinSlotSize - 1) / kMinSlotSize)};
}

constexpr std::size_t slot_size_of_class(unsigned cls) {
  if (cls <= 16) return cls * kMinSlotSize;
  const unsigned doubling = (cls - 17) / 4 + 8;
  const unsigned quarter = (cls - 17) % 4 + 1;
  return (std::size_t{4} + quarter) << (doubling - 2);
}

constexpr HeapKind kind_of_slot_size(std::size_t size) {
  if (size <= kExactSlotLimit) return HeapKind::kGranule16;
  if (size <= 1_KiB) return HeapKind::kGranule64;
  return HeapKind::kGranule256;
}

struct SizeClass {
  std::uint32_t slot_size;
  std::uint16_t slots_per_span;
  std::uint16_t magazine_capacity;  // the most; even, since the oldest half is given back at once
  std::uint16_t least_capacity;     // of a magazine whose thread gives and does not take
  std::uint16_t batch;              // slots moved per refill
  std::uint8_t span_units;
  HeapKind kind;
};

constexpr SizeClass make_size_class(unsigned cls) {
  const std::size_t size = slot_size_of_class(cls);
  SizeClass result{};
  result.slot_size = static_cast<std::uint32_t>(size);
  result.kind = kind_of_slot_size(size);
  const auto choose = [&](std::uint16_t capacity, std::uint16_t least, std::uint16_t batch) {
    result.magazine_capacity = capacity;
    result.least_capacity = least;
    result.batch = batch;
  };
  if (size <= 256) {
    choose(254, 16, 64);
  } else if (size <= 1_KiB) {
    choose(126, 16, 32);
  } else if (size <= 4_KiB) {
    choose(32, 4, 8);
  } else if (size <= 8_KiB) {
    choose(16, 2, 4);
  } else if (size <= 16_KiB) {
    choose(8, 2, 2);
  } else {
    choose(4, 2, 2);
  }
  // The fewest units that hold enough slots and waste at most a sixteenth behind the last slot.
  const std::size_t enough = size <= 4_KiB ? 16 : 8;
  for (std::size_t units = 1;; ++units) {
    const std::size_t bytes = units * kUnitSize;
    const std::size_t slots = bytes / size;
    if (slots >= enough && (bytes - slots * size) * 16 <= bytes) {
      result.span_units = static_cast<std::uint8_t>(units);
      result.slots_per_span = static_cast<std::uint16_t>(slots);
      return result;
    }
  }
}

inline constexpr std::array<SizeClass, kClassCount + 1> kSizeClasses = [] {
  std::array<SizeClass, kClassCount + 1> classes{};
  for (unsigned cls = 1; cls <= kClassCount; ++cls) classes[cls] = make_size_class(cls);
  return classes;
}();

constexpr const SizeClass& size_class(ClassIndex cls) { return kSizeClasses[cls.value]; }

// The smallest class whose slots hold `size` bytes and all start at multiples of `alignment` (a power of two, at most a
// unit): spans start at unit boundaries, so a slot size that is a multiple of the alignment is enough. Class 0 if there
// is none.
constexpr ClassIndex class_for_aligned(std::size_t size, std::size_t alignment) {
  if (size > kMaxSlotSize || alignment > kUnitSize) return {0};
  for (unsigned cls = class_for(size).value; cls <= kClassCount; ++cls) {
    if (is_aligned(kSizeClasses[cls].slot_size, alignment)) return {static_cast<std::uint8_t>(cls)};
  }
  return {0};
}

// The classes of one kind stand side by side; a heap keeps its per-class state in arrays that start at the first.
constexpr unsigned first_class_of(HeapKind kind) {
  constexpr unsigned kFirst[kHeapKinds] = {1, 17, 25, kClassCount + 1};
  return kFirst[static_cast<std::size_t>(kind)];
}
inline constexpr std::size_t kMaxClassesPerKind = 20;

// At least one.
constexpr UnitCount units_for(std::size_t bytes) {
  return {bytes == 0 ? 1 : static_cast<std::uint32_t>(ceil_div(bytes, kUnitSize))};
}

}  // namespace arenite
