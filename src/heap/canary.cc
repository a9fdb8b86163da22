#include "heap/canary.h"

#include <cstring>

#include "base/bits.h"
#include "base/checks.h"
#include "base/protected_ptr.h"

namespace arenite {

namespace {

constexpr std::size_t kMostBytes = 16;

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

std::size_t canary_bytes(std::size_t bytes, std::size_t requested) {
  const std::size_t room = bytes - tail_bytes(bytes) - requested;
  return room < kMostBytes ? room : kMostBytes;
}

std::uint64_t tail_mask(std::uint64_t hash) { return hash * 0x9fb21c651e98df25ULL; }

// Of eight bytes, none is 0.
std::uint64_t pattern_of(std::uint64_t hash) { return hash | 0x0101010101010101ULL; }

}  // namespace

void set_canary(void* block, std::size_t bytes, std::size_t requested, BlockOrigin origin) {
  const std::uint64_t hash = hash_of(block);
  const std::uint64_t pattern[2] = {pattern_of(hash), pattern_of(hash)};
  auto* const start = static_cast<char*>(block);
  std::memcpy(start + requested, pattern, canary_bytes(bytes, requested));
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
  const bool possible = behind <= low_bits(shape.behind) && behind >= tail_bytes(bytes) && behind <= bytes &&
                        origin <= static_cast<std::uint64_t>(BlockOrigin::kNewArray);
  if (!possible) return {};
  const std::size_t requested = bytes - behind;
  const std::uint64_t pattern[2] = {pattern_of(hash), pattern_of(hash)};
  if (std::memcmp(start + requested, pattern, canary_bytes(bytes, requested)) != 0) return {};
  return {.is_whole = true, .requested = requested, .origin = static_cast<BlockOrigin>(origin)};
}

}  // namespace arenite
