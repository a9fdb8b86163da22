// The way to the user when nothing may be allocated: one write to a file descriptor, and the end of the process.
#pragma once

#include <string_view>

namespace arenite::os {

inline constexpr int kStandardError = 2;

// As much as the descriptor takes; errors are ignored, since there is nobody to tell.
void write_all(int descriptor, std::string_view text);

// SIGABRT through libc's abort(), so that the program's handler runs.
[[noreturn]] void abort_process();
// SIGABRT at once, whatever the program has installed for it.
[[noreturn]] void end_process();

}  // namespace arenite::os
