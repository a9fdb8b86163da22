// How much memory the process's control groups let it have.
#pragma once

#include <cstddef>
#include <string_view>

namespace arenite::os {

// The least limit of the process's groups and all above them (versions 2 and 1), in bytes; SIZE_MAX if there is none.
// Others in the same groups count against it as well.
std::size_t memory_limit();

// A part of it, for tests: what memory.max or memory.limit_in_bytes says. Version 1 has no word for "no limit" but
// numbers near 2^63.
std::size_t memory_limit_in(std::string_view text);

}  // namespace arenite::os
