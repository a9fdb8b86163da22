// The fake of os/file.h that unit and state tests link: files that a test has made up, in front of the real ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace arenite::real_os {

// The real function, for the fake and its test.
std::string_view read_file(const char* path, char* buffer, std::size_t capacity);

}  // namespace arenite::real_os

namespace arenite::fake {

// From now on os::read_file() finds this text at the path.
void set_file(const std::string& path, const std::string& text);
// Nothing can be read at the path, nor at any that continues it: a folder hides all that is in it.
void hide(const std::string& path);
// Only the real files again.
void forget_files();

}  // namespace arenite::fake
