// What stands behind the bytes that the program has asked for, up to the end of its slot, run or mapping: canary bytes,
// and at the very end a tail that says how many bytes were asked for and by whom. All of it depends on the place and on
// a secret, so that neither an overflow by one byte nor a copied neighbour passes.
//
//   | requested bytes | 1 to 8 canary bytes, none of them 0 | (not looked at) | tail |
#pragma once

#include <cstddef>
#include <cstdint>

#include "policy/size_classes.h"

namespace arenite {

// By which family of functions a block was asked for, and so must come back.
enum class BlockOrigin : std::uint8_t { kMalloc, kNew, kNewArray };

// The tail of a block of so many bytes in all; its length has to fit into it.
constexpr std::size_t tail_bytes(std::size_t bytes) { return bytes <= kMaxSlotSize ? 4 : 8; }
// The bytes that a block needs for `requested` of them; the largest number if that is too much.
constexpr std::size_t with_canary(std::size_t requested) {
  const std::size_t small = saturating_add(requested, 1 + tail_bytes(0));
  return small <= kMaxSlotSize ? small : saturating_add(requested, 1 + tail_bytes(SIZE_MAX));
}

struct CanaryState {
  bool is_whole = false;
  std::size_t requested = 0;  // bytes, if it is whole
  BlockOrigin origin = BlockOrigin::kMalloc;
};

// `bytes` is at least with_canary(requested).
void set_canary(void* block, std::size_t bytes, std::size_t requested, BlockOrigin origin);
CanaryState read_canary(const void* block, std::size_t bytes);

}  // namespace arenite
