// Blocks that are libc's, not arenite's, and what becomes of them: see os/libc_blocks.h for where they come from.
#pragma once

#include <cstddef>

#include "heap/block.h"

namespace arenite {

// Whether the address, at which no block of arenite's starts, is that of a block of libc's own malloc which the program
// may give back or resize here.
bool is_foreign(const void* pointer, const Block& block);

// As the option foreign_blocks says. No lock may be held.
void give_foreign(void* pointer);
// What the program may use of one.
std::size_t usable_size_of_foreign(const void* pointer);

}  // namespace arenite
