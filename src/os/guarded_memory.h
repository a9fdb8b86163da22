// Memory for arenite's own structures, each between pages without access, so that what runs over the end of something
// else does not reach it.
#pragma once

#include <cstddef>

namespace arenite::os {

// No access to usable pages any more: a guard inside of their mapping, where the kernel has that; else they become one
// of their own. False if the system refuses.
bool forbid(void* address, std::size_t bytes);

// Zero-filled, at least `bytes`, at the start of a page. Null if the system refuses.
void* map_guarded(std::size_t bytes);
// With the same number of bytes. False, and nothing changed, if the system refuses.
bool release_guarded(void* start, std::size_t bytes);

// Read-only from now on. False if the system refuses, and where that is not a whole number of pages.
bool seal(void* start, std::size_t bytes);

}  // namespace arenite::os
