// The slow ways to memory and back, below the exported functions: every one is complete in itself, reports misuse, and
// leaves errno alone. The exported functions set it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/canary.h"

namespace arenite {

struct Allocation {
  void* pointer = nullptr;
  bool zeroed = false;  // every byte the program may use is known to be 0
};

// At least `size` bytes at a multiple of `alignment` (a power of two). Null if memory is out.
Allocation allocate(std::size_t size, std::size_t alignment, BlockOrigin origin = BlockOrigin::kMalloc);
// The block that starts at `pointer` is given back; anything else but null is misuse. So is, where blocks know their
// origin, another one.
void deallocate(void* pointer, BlockOrigin origin = BlockOrigin::kMalloc);
// The same, if the block can be one of that alignment; else it is misuse.
void deallocate_aligned(void* pointer, std::size_t alignment, BlockOrigin origin = BlockOrigin::kMalloc);
// How sure the size is that a caller states of a block.
enum class SizeRule : std::uint8_t {
  kExact,    // the block is as allocate(size, alignment) made it: operator delete
  kResized,  // or reallocate() left it in place with that size: free_sized
};
// The same, if the block can be one of that size and alignment; else it is misuse.
void deallocate_sized(void* pointer, std::size_t size, std::size_t alignment, SizeRule rule,
                      BlockOrigin origin = BlockOrigin::kMalloc);
// The block was asked for by another family of functions than it seems.
void set_origin(void* pointer, BlockOrigin origin);
// The block with new size, moved if needed. Null if memory is out or the call is misuse; the block then stands
// unchanged. `pointer` is not null, `size` not 0.
struct Resized {
  void* pointer = nullptr;
  bool misused = false;
};
Resized reallocate(void* pointer, std::size_t size);
// The bytes that the program may use of the block that starts at `pointer`; 0 if none does.
std::size_t usable_size(const void* pointer);

}  // namespace arenite
