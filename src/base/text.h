// Text in a fixed buffer: no allocation, no locale, no libc. What does not fit is cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite {

// Parts of a text; std::string_view::substr would need the C++ runtime to throw.
constexpr std::string_view first_part(std::string_view text, std::size_t length) {
  return {text.data(), length < text.size() ? length : text.size()};
}
constexpr std::string_view rest_from(std::string_view text, std::size_t start) {
  return start < text.size() ? std::string_view{text.data() + start, text.size() - start} : std::string_view{};
}

template <std::size_t kCapacity>
class Text {
 public:
  Text& add(std::string_view part) {
    for (const char character : part) add(character);
    return *this;
  }
  Text& add(char character) {
    if (length_ < kCapacity) buffer_[length_++] = character;
    return *this;
  }
  Text& add_decimal(std::uint64_t value) { return add_number(value, 10, 0); }
  // Right-aligned in `width` columns.
  Text& add_decimal(std::uint64_t value, std::size_t width) { return add_number(value, 10, width); }
  Text& add_hex(std::uint64_t value) { return add("0x").add_number(value, 16, 0); }

  std::string_view view() const { return {buffer_, length_}; }
  bool full() const { return length_ == kCapacity; }
  void clear() { length_ = 0; }

 private:
  Text& add_number(std::uint64_t value, unsigned base, std::size_t width) {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    for (std::size_t column = count; column < width; ++column) add(' ');
    while (count > 0) add(digits[--count]);
    return *this;
  }

  std::size_t length_ = 0;
  char buffer_[kCapacity];
};

}  // namespace arenite
