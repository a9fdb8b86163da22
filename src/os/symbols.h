// Functions of other libraries in the process, by name. May allocate and take the loader's lock: for error paths only.
#pragma once

namespace arenite::os {

// The first in the process's order of search, and the first behind arenite in that order. Null if there is none.
void* find_symbol(const char* name);
void* find_next_symbol(const char* name);
// In a library that the process has loaded, also where only a part of the process can see it.
void* find_symbol_in(const char* library, const char* name);

}  // namespace arenite::os
