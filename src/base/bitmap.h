// A set of small integers as bits, with the two questions heaps ask: the lowest member, and the lowest run of members.
// Memory of zeros is the empty set; so that a heap's many sets cost no page before they are used, nothing is written at
// the start: `Bitmap<N> set{}` is empty, `Bitmap<N> set` is whatever its memory was.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace arenite {

// kBits is a multiple of 64, at most 4096, so that one word can say which words are not empty.
template <std::size_t kBits>
class Bitmap {
  static_assert(kBits % 64 == 0 && kBits <= 4096);

 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  bool test(std::size_t bit) const { return ((words_[bit / 64] >> (bit % 64)) & 1U) != 0; }
  bool empty() const { return summary_ == 0; }

  void set(std::size_t bit) {
    words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    summary_ |= std::uint64_t{1} << (bit / 64);
  }

  void clear(std::size_t bit) {
    words_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
    if (words_[bit / 64] == 0) summary_ &= ~(std::uint64_t{1} << (bit / 64));
  }

  void set_range(std::size_t first, std::size_t count) {
    for_each_word(first, count, [this](std::size_t word, std::uint64_t mask) {
      words_[word] |= mask;
      summary_ |= std::uint64_t{1} << word;
    });
  }

  void clear_range(std::size_t first, std::size_t count) {
    for_each_word(first, count, [this](std::size_t word, std::uint64_t mask) {
      words_[word] &= ~mask;
      if (words_[word] == 0) summary_ &= ~(std::uint64_t{1} << word);
    });
  }

  std::size_t lowest() const {
    if (summary_ == 0) return kNone;
    const auto word = static_cast<std::size_t>(std::countr_zero(summary_));
    return word * 64 + static_cast<std::size_t>(std::countr_zero(words_[word]));
  }

  // The first member at or after `from`; kNone if there is none.
  std::size_t next_set(std::size_t from) const { return next(from, 0); }
  // The first non-member at or after `from`; kBits if there is none.
  std::size_t next_clear(std::size_t from) const {
    const std::size_t bit = next(from, ~std::uint64_t{0});
    return bit == kNone ? kBits : bit;
  }

  // The number of members directly below `bit`, without a gap.
  std::size_t run_below(std::size_t bit) const {
    std::size_t run = 0;
    while (run < bit) {
      const std::size_t at = bit - run - 1;  // the highest bit not yet looked at
      const std::size_t width = at % 64 + 1;
      const auto ones = static_cast<std::size_t>(std::countl_one(words_[at / 64] << (64 - width)));
      run += ones < width ? ones : width;
      if (ones < width) break;
    }
    return run;
  }

  std::size_t count(std::size_t first, std::size_t count) const {
    std::size_t members = 0;
    const_cast<Bitmap*>(this)->for_each_word(first, count, [&](std::size_t word, std::uint64_t mask) {
      members += static_cast<std::size_t>(std::popcount(words_[word] & mask));
    });
    return members;
  }

  // The start of the lowest run of `length` members whose start is a multiple of `alignment`; kNone if there is none.
  // `longest` receives the length of the longest run seen, whatever its alignment (the whole map is seen when kNone).
  std::size_t find_run(std::size_t length, std::size_t alignment, std::size_t* longest) const {
    *longest = 0;
    for (std::size_t first = lowest(); first != kNone;) {
      const std::size_t end = next_clear(first);
      if (end - first > *longest) *longest = end - first;
      const std::size_t start = (first + alignment - 1) / alignment * alignment;
      if (start + length <= end) return start;
      first = end == kBits ? kNone : next_set(end);
    }
    return kNone;
  }

 private:
  // The first bit at or after `from` that is 1 in (word XOR flip).
  std::size_t next(std::size_t from, std::uint64_t flip) const {
    if (from >= kBits) return kNone;
    std::size_t word = from / 64;
    std::uint64_t rest = (words_[word] ^ flip) & (~std::uint64_t{0} << (from % 64));
    while (rest == 0) {
      if (++word == kBits / 64) return kNone;
      rest = words_[word] ^ flip;
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
  }

  template <typename Action>
  void for_each_word(std::size_t first, std::size_t count, Action action) {
    while (count > 0) {
      const std::size_t offset = first % 64;
      const std::size_t width = count < 64 - offset ? count : 64 - offset;
      action(first / 64, (~std::uint64_t{0} >> (64 - width)) << offset);
      first += width;
      count -= width;
    }
  }

  std::uint64_t summary_;  // bit w set <=> words_[w] != 0
  std::uint64_t words_[kBits / 64];
};

}  // namespace arenite
