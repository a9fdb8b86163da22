#include "os/kernel_text.h"

#include <cstddef>

#include "base/text.h"

namespace arenite::os {

std::uint64_t leading_number(std::string_view text) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    const auto digit = static_cast<std::uint64_t>(text[digits] - '0');
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return kNoNumber;
  }
  return digits == 0 ? kNoNumber : value;
}

std::string_view line_value(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = first_part(text, end);
    text = end == std::string_view::npos ? std::string_view{} : rest_from(text, end + 1);
    if (!line.starts_with(name) || line.size() == name.size() || line[name.size()] != ':') continue;
    std::size_t start = name.size() + 1;
    while (start < line.size() && (line[start] == ' ' || line[start] == '\t')) ++start;
    return rest_from(line, start);
  }
  return {};
}

}  // namespace arenite::os
