// What operator new needs of the C++ runtime library, which arenite does not link.
#pragma once

#include <cstddef>
#include <new>

namespace arenite {

// Null if none is installed or no C++ runtime is loaded.
std::new_handler installed_new_handler();

// Throws std::bad_alloc through the program's C++ runtime; without one, ends the process with a message.
[[noreturn]] void throw_bad_alloc();

// What operator new(size, alignment) returns, and null for whatever it throws: the new-handler may throw, and arenite's
// own code cannot catch. Null without a C++ runtime.
void* new_or_null(std::size_t size, std::size_t alignment);

}  // namespace arenite
