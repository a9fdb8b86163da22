// Strong types for what must not be mixed up: unit counts and indices, size classes, arena numbers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace arenite {

// A number of units (16 KiB each).
struct UnitCount {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const UnitCount&) const = default;
  constexpr UnitCount operator+(UnitCount other) const { return {value + other.value}; }
  constexpr UnitCount operator-(UnitCount other) const { return {value - other.value}; }
};

// The place of a unit in its heap, counted from the heap's base.
struct UnitIndex {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const UnitIndex&) const = default;
  constexpr UnitIndex operator+(UnitCount count) const { return {value + count.value}; }
  constexpr UnitIndex operator-(UnitCount count) const { return {value - count.value}; }
  constexpr UnitCount operator-(UnitIndex other) const { return {value - other.value}; }
};

struct UnitRange {
  UnitIndex first;
  UnitCount count;
  constexpr UnitIndex end() const { return first + count; }
};

// A size class: 1 to kClassCount; 0 is no class.
struct ClassIndex {
  std::uint8_t value = 0;
  constexpr auto operator<=>(const ClassIndex&) const = default;
};

// An arena's number: 1 to kMaxArenas; 0 is no arena.
inline constexpr std::uint16_t kMaxArenas = 1022;
struct ArenaId {
  std::uint16_t value = 0;
  constexpr auto operator<=>(const ArenaId&) const = default;
};

}  // namespace arenite
