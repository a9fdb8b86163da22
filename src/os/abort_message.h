// The last words of a process, where debuggers and crash collectors look for them.
#pragma once

#include <string_view>

namespace arenite::os {

// Copies the text into a mapping of its own, with a name in /proc/self/maps where the kernel has such names, and lets
// libc's `__abort_msg` point to it, if libc has that. Takes no lock and allocates nothing else. A later text takes the
// place of an earlier one.
void leave_abort_message(std::string_view text);

}  // namespace arenite::os
