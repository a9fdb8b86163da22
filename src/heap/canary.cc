#include "heap/canary.h"

#include <cstring>

#include "base/bits.h"
#include "base/checks.h"
#include "base/protected_ptr.h"

namespace arenite {

namespace {

constexpr std::size_t kMostBytes = sizeof(std::uint64_t);

// The tail, before it is mixed: origin in 2 bits, the bytes behind the requested ones in `behind`, the others are 0.
constexpr unsigned kOriginBits = 2;
struct TailShape {
  unsigned behind;
  unsigned all;
};
constexpr TailShape shape_of(std::size_t bytes) {
  return tail_bytes(bytes) == 4 ? TailShape{.behind = 16, .all = 32} : TailShape{.behind = 42, .all = 64};
}
constexpr std::uint64_t low_bits(unsigned count) { return ~std::uint64_t{0} >> (64 - count); }

std::uint64_t hash_of(const void* block) {
  std::uint64_t hash = (address_of(block) ^ link_secret) * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 32;
  return hash * 0xd6e8feb86659fd93ULL;
}

std::uint64_t tail_mask(std::uint64_t hash) { return hash * 0x9fb21c651e98df25ULL; }

// Of eight bytes, none is 0.
std::uint64_t pattern_of(std::uint64_t hash) { return hash | 0x0101010101010101ULL; }

// Eight bytes that lie between the start of the block and its tail, and how many of them, the last ones, are canary.
struct CanaryPlace {
  std::size_t offset;
  unsigned bytes;
};

CanaryPlace place_of(std::size_t bytes, std::size_t requested) {
  const std::size_t room = bytes - tail_bytes(bytes) - requested;
  if (room >= kMostBytes) return {.offset = requested, .bytes = kMostBytes};
  return {.offset = bytes - tail_bytes(bytes) - kMostBytes, .bytes = static_cast<unsigned>(room)};
}

// Bytes at higher addresses are the higher ones.
std::uint64_t mask_of(unsigned bytes) { return ~std::uint64_t{0} << (8 * (kMostBytes - bytes)); }

}  // namespace

void set_canary(void* block, std::size_t bytes, std::size_t requested, BlockOrigin origin) {
  const std::uint64_t hash = hash_of(block);
  auto* const start = static_cast<char*>(block);
  const CanaryPlace place = place_of(bytes, requested);
  const std::uint64_t mask = mask_of(place.bytes);
  std::uint64_t word = 0;
  std::memcpy(&word, start + place.offset, sizeof word);
  word = (word & ~mask) | (pattern_of(hash) & mask);
  std::memcpy(start + place.offset, &word, sizeof word);
  const std::uint64_t behind = bytes - requested;
  ARENITE_DCHECK(behind > tail_bytes(bytes) && behind <= low_bits(shape_of(bytes).behind));
  const std::uint64_t tail = (behind << kOriginBits | static_cast<std::uint64_t>(origin)) ^ tail_mask(hash);
  std::memcpy(start + bytes - tail_bytes(bytes), &tail, tail_bytes(bytes));  // its low bytes
}

CanaryState read_canary(const void* block, std::size_t bytes) {
  const std::uint64_t hash = hash_of(block);
  const auto* const start = static_cast<const char*>(block);
  const TailShape shape = shape_of(bytes);
  std::uint64_t tail = 0;
  std::memcpy(&tail, start + bytes - tail_bytes(bytes), tail_bytes(bytes));
  tail = (tail ^ tail_mask(hash)) & low_bits(shape.all);
  const std::size_t behind = tail >> kOriginBits;
  const std::uint64_t origin = tail & low_bits(kOriginBits);
  const bool possible = behind <= low_bits(shape.behind) && behind > tail_bytes(bytes) && behind <= bytes &&
                        origin <= static_cast<std::uint64_t>(BlockOrigin::kNewArray);
  if (!possible) return {};
  const std::size_t requested = bytes - behind;
  const CanaryPlace place = place_of(bytes, requested);
  std::uint64_t word = 0;
  std::memcpy(&word, start + place.offset, sizeof word);
  if (((word ^ pattern_of(hash)) & mask_of(place.bytes)) != 0) return {};
  return {.is_whole = true, .requested = requested, .origin = static_cast<BlockOrigin>(origin)};
}

}  // namespace arenite
