// Figures of the whole heap: collected arena by arena, each under its lock, so the sum is exact when nothing else runs.
// What is cached by threads counts as free.
#pragma once

#include <stdio.h>

#include <cstddef>

#include "arena/arena.h"
#include "heap/large_mappings.h"

namespace arenite {

struct HeapStatistics {
  std::size_t arenas = 0;
  std::size_t system_bytes = 0;     // obtained for heaps
  std::size_t live_bytes = 0;       // of slots and runs that belong to the program, as the classes round them
  std::size_t free_bytes = 0;       // the rest: cached, free in spans, free units, tops
  std::size_t free_pieces = 0;      // free runs of units, tops and slots
  std::size_t first_arena_top = 0;  // bytes at the tops of the first arena
  LargeFigures mappings;
};

HeapStatistics collect_statistics();

// glibc's malloc_stats() text.
void write_statistics(int descriptor);
// glibc's malloc_info() document.
void write_heap_information(FILE* stream);

}  // namespace arenite
