// Whether memory holds nothing but zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace arenite {

inline bool is_zero(const void* memory, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(memory);
  std::uint64_t seen = 0;
  for (; bytes >= sizeof seen; at += sizeof seen, bytes -= sizeof seen) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    seen |= word;
  }
  for (; bytes > 0; ++at, --bytes) seen |= *at;
  return seen == 0;
}

}  // namespace arenite
