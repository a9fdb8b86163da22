// Small files of the kernel, read by raw system calls.
#pragma once

#include <cstddef>
#include <string_view>

namespace arenite::os {

// As much of the file as fits into `buffer`; empty if it cannot be read. `path` ends with a zero byte.
std::string_view read_file(const char* path, char* buffer, std::size_t capacity);

}  // namespace arenite::os
