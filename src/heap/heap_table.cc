#include "heap/heap_table.h"

namespace arenite {

constinit std::uint16_t heap_table[kHeapTableEntries] = {};

void enter_heap(const void* base, ArenaId arena, unsigned granule_bits) {
  relaxed_store(&heap_table[address_of(base) >> kPlatform.heap_bits],
                static_cast<std::uint16_t>(arena_tag(arena) | granule_bits));
}

void leave_heap(const void* base) {
  relaxed_store(&heap_table[address_of(base) >> kPlatform.heap_bits], std::uint16_t{0});
}

}  // namespace arenite
