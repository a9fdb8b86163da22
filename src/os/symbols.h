// Functions of other libraries in the process, by name. May allocate and take the loader's lock: for error paths only.
#pragma once

namespace arenite::os {

// The first in the process's order of search, and the first behind arenite in that order. Null if there is none.
void* find_symbol(const char* name);
void* find_next_symbol(const char* name);

}  // namespace arenite::os
