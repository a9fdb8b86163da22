// What the kernel's small text files say: numbers, and lines of the form "name: value".
#pragma once

#include <cstdint>
#include <string_view>

namespace arenite::os {

inline constexpr std::uint64_t kNoNumber = UINT64_MAX;

// The digits at the start of `text`, as a number; kNoNumber if there are none ("max", "-1"). A number that is too large
// is kNoNumber as well.
std::uint64_t leading_number(std::string_view text);

// What stands behind "name:" and blanks on the first line that begins so. Empty if there is none.
std::string_view line_value(std::string_view text, std::string_view name);

}  // namespace arenite::os
