// What stands behind the bytes that the program has asked for, up to the end of its slot, run or mapping: canary bytes,
// and at the very end a tail that says how many bytes were asked for and by whom. All of it depends on the place and on
// a secret, so that neither an overflow by one byte nor a copied neighbour passes.
//
//   | requested bytes | 1 to 8 canary bytes, none of them 0 | (not looked at) | tail |
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/attributes.h"
#include "base/bits.h"
#include "base/checks.h"
#include "base/protected_ptr.h"
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

namespace canary {

inline constexpr std::size_t kMostBytes = sizeof(std::uint64_t);

// The tail, before it is mixed: origin in 2 bits, then the bytes behind the requested ones.
inline constexpr unsigned kOriginBits = 2;
inline constexpr std::uint64_t kOriginMask = (1U << kOriginBits) - 1;

ARENITE_ALWAYS_INLINE std::uint64_t hash_of(const void* block) {
  std::uint64_t hash = (address_of(block) ^ sealed.link_secret) * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 32;
  return hash * 0xd6e8feb86659fd93ULL;
}

// The hash in another order, since its higher half is the better one.
constexpr std::uint64_t tail_mask(std::uint64_t hash) { return hash >> 32 | hash << 32; }

// Of eight bytes, none is 0.
constexpr std::uint64_t pattern_of(std::uint64_t hash) { return hash | 0x0101010101010101ULL; }

// Eight bytes that lie between the start of the block and its tail; those of the mask, the last ones, are canary.
struct CanaryPlace {
  std::size_t offset;
  std::uint64_t mask;
};

// Bytes at higher addresses are the higher ones of the mask.
constexpr CanaryPlace place_of(std::size_t bytes, std::size_t requested) {
  const std::size_t end = bytes - tail_bytes(bytes);
  const std::size_t room = end - requested;
  const std::size_t count = room < kMostBytes ? room : kMostBytes;
  const std::size_t last = end - kMostBytes;
  return {.offset = requested < last ? requested : last, .mask = ~std::uint64_t{0} << (8 * (kMostBytes - count))};
}

}  // namespace canary

// `bytes` is at least with_canary(requested).
ARENITE_ALWAYS_INLINE void set_canary(void* block, std::size_t bytes, std::size_t requested, BlockOrigin origin) {
  using namespace canary;
  const std::uint64_t hash = hash_of(block);
  auto* const start = static_cast<char*>(block);
  const CanaryPlace place = place_of(bytes, requested);
  std::uint64_t word = 0;
  std::memcpy(&word, start + place.offset, sizeof word);
  word = (word & ~place.mask) | (pattern_of(hash) & place.mask);
  std::memcpy(start + place.offset, &word, sizeof word);
  const std::uint64_t behind = bytes - requested;
  ARENITE_DCHECK(behind > tail_bytes(bytes) && behind <= bytes);
  const std::uint64_t tail = (behind << kOriginBits | static_cast<std::uint64_t>(origin)) ^ tail_mask(hash);
  std::memcpy(start + bytes - tail_bytes(bytes), &tail, tail_bytes(bytes));  // its low bytes
}

ARENITE_ALWAYS_INLINE CanaryState read_canary(const void* block, std::size_t bytes) {
  using namespace canary;
  const std::uint64_t hash = hash_of(block);
  const auto* const start = static_cast<const char*>(block);
  const std::size_t tail_size = tail_bytes(bytes);
  std::uint64_t tail = tail_mask(hash) << (64 - 8 * tail_size) >> (64 - 8 * tail_size);
  std::uint64_t stored = 0;
  std::memcpy(&stored, start + bytes - tail_size, tail_size);
  tail ^= stored;
  const std::size_t behind = tail >> kOriginBits;
  const bool possible = behind > tail_size && behind <= bytes &&
                        (tail & kOriginMask) <= static_cast<std::uint64_t>(BlockOrigin::kNewArray);
  if (!possible) return {};
  const std::size_t requested = bytes - behind;
  const CanaryPlace place = place_of(bytes, requested);
  std::uint64_t word = 0;
  std::memcpy(&word, start + place.offset, sizeof word);
  if (((word ^ pattern_of(hash)) & place.mask) != 0) return {};
  return {.is_whole = true, .requested = requested, .origin = static_cast<BlockOrigin>(tail & kOriginMask)};
}

// The same for a slot, whose tail is the short one.
ARENITE_ALWAYS_INLINE void set_slot_canary(void* slot, std::size_t bytes, std::size_t requested, BlockOrigin origin) {
  if (bytes <= kMaxSlotSize) set_canary(slot, bytes, requested, origin);
}
ARENITE_ALWAYS_INLINE CanaryState read_slot_canary(const void* slot, std::size_t bytes) {
  return bytes <= kMaxSlotSize ? read_canary(slot, bytes) : CanaryState{};
}

}  // namespace arenite
