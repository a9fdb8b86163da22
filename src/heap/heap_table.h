// From any address to the heap it lies in: 16 bits for each 64 MiB of address space.
//
//   entry: (arena id << kGranuleField) | log2 of the granule, or 0 where no heap of arenite's is
//
// An entry XOR a thread's own (arena id << kGranuleField) is below 64 exactly when the heap belongs to the thread's
// arena, and is then the granule shift. A tag that no heap has (kNoArenaTag) never matches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/relaxed.h"
#include "base/units.h"
#include "os/platform.h"

namespace arenite {

inline constexpr unsigned kGranuleField = 6;
inline constexpr std::uint32_t kOwnShiftLimit = std::uint32_t{1} << kGranuleField;

constexpr std::uint32_t arena_tag(ArenaId arena) { return static_cast<std::uint32_t>(arena.value) << kGranuleField; }
inline constexpr std::uint32_t kNoArenaTag = arena_tag(ArenaId{kMaxArenas + 1});

inline constexpr std::size_t kHeapTableEntries = std::size_t{1} << (kPlatform.address_bits - kPlatform.heap_bits);

// Zero pages until a heap is entered. Written under the owner's lock, read by everybody; relaxed is enough, since a
// pointer into a heap reaches another thread by some synchronisation of the program's own.
extern std::uint16_t heap_table[kHeapTableEntries];

// What the table knows of an address.
struct HeapEntry {
  std::uint16_t value = 0;
  bool is_heap() const { return value != 0; }
  ArenaId arena() const { return {static_cast<std::uint16_t>(value >> kGranuleField)}; }
  unsigned granule_bits() const { return value & (kOwnShiftLimit - 1); }
};

inline HeapEntry lookup_heap(const void* pointer) {
  const std::uintptr_t index = address_of(pointer) >> kPlatform.heap_bits;
  if (index >= kHeapTableEntries) return {};
  return {relaxed_load(&heap_table[index])};
}

void leave_heap(const void* base);
void enter_heap(const void* base, ArenaId arena, unsigned granule_bits);

}  // namespace arenite
