// What arenite knows of an address: the block that starts there, if one does. Safe for any value, in constant time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/granule_map.h"
#include "heap/heap_table.h"

namespace arenite {

enum class BlockKind : std::uint8_t {
  kNone,
  kSlot,
  kRun,
  kMapping,
  kUntouchable,  // a mapping without access, of size 0
  kSampled,      // see heap/sampled_slots.h
};

struct Block {
  BlockKind kind = BlockKind::kNone;
  GranuleByte byte;       // of the granule that starts at the address, 0 if none does or it is no heap's
  HeapEntry heap;         // of the address, whether or not a block starts there
  std::size_t bytes = 0;  // that the program may use
  bool freed = false;     // a sampled block did start there, before it was freed
};

// The live block that starts at `pointer`; kNone if none does.
Block find_block(const void* pointer);

}  // namespace arenite
