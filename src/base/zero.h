// Whether memory holds nothing but zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace arenite {

// `bytes` is a multiple of 16.
inline bool is_zero(const void* memory, std::size_t bytes) {
  using Words = std::uint64_t __attribute__((vector_size(16)));
  const auto* const start = static_cast<const char*>(memory);
  Words seen = {0, 0};
  for (std::size_t at = 0; at < bytes; at += sizeof(Words)) {
    Words words;
    std::memcpy(&words, start + at, sizeof words);
    seen |= words;
  }
  return (seen[0] | seen[1]) == 0;
}

}  // namespace arenite
