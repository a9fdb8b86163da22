// Figures of the whole heap in glibc's terms: collected arena by arena, each under its lock, so the sum is exact when
// nothing else runs. What threads have cached counts as free.
#pragma once

#include <cstddef>

#include "arena/arena.h"
#include "heap/large_mappings.h"

namespace arenite {

// One arena, or the sum over all.
struct ArenaSummary {
  ArenaSummary() = default;
  explicit ArenaSummary(const ArenaFigures& figures);
  ArenaSummary& operator+=(const ArenaSummary& other);

  std::size_t system = 0;    // bytes obtained for heaps
  std::size_t most = 0;      // the most of that so far; of a sum, the sum of the arenas' peaks
  std::size_t in_use = 0;    // bytes of slots and runs of the program, as the classes round them
  std::size_t free = 0;      // the rest: cached, free in spans, free units, tops
  std::size_t pieces = 0;    // free slots, free runs of units, and one top
  std::size_t top = 0;       // bytes of the free tops
  std::size_t reserved = 0;  // bytes of address space
  std::size_t writable = 0;  // bytes of it that can be written
  std::size_t heaps = 0;
  std::size_t contained_spans = 0;
  std::size_t cached = 0;        // bytes of slots on their way, in threads and transfer stacks
  std::size_t huge_padding = 0;  // bytes that are writable only to fill huge pages
};

// What concerns all arenas. Sizes in bytes; a limit of 0 is none.
struct ProcessStatistics {
  std::size_t processors = 0;  // that the process may use
  std::size_t arenas = 0;
  std::size_t arena_limit = 0;
  std::size_t contained = 0;  // arenas
  std::size_t dropped = 0;    // blocks that came back to what is contained
  std::size_t damage = 0;     // times that something was found damaged
  std::size_t footprint = 0;
  std::size_t soft_limit = 0;
  std::size_t hard_limit = 0;
};

ProcessStatistics collect_process_statistics();

struct HeapStatistics {
  ArenaSummary all;
  std::size_t first_arena_top = 0;
  LargeFigures mappings;
};

HeapStatistics collect_statistics();

// glibc's malloc_stats() text.
void write_statistics(int descriptor);

}  // namespace arenite
