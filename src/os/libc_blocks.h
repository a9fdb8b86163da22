// Blocks of libc's own malloc, told from all other addresses by what glibc stores around them (unchanged from 2.26 to
// 2.42). A part of the process can have such blocks although arenite is there: a plug-in that was loaded with
// RTLD_DEEPBIND before os/libc_symbols.h came to it, and whoever asks libc for its malloc by handle.
#pragma once

#include <cstddef>

namespace arenite::os {

// Whether a block that libc's malloc has handed out starts there, as far as a few reads can tell: constant time, safe
// for any value. For addresses that are not arenite's. False as well where the kernel allows no checked reads.
bool is_libc_block(const void* pointer);

// libc's own functions, whatever stands in front of them; null where there are none.
struct LibcMalloc {
  void (*free)(void*) = nullptr;
  std::size_t (*usable_size)(void*) = nullptr;
};
// Looked up at the first call, which takes the loader's lock.
const LibcMalloc& libc_malloc();

}  // namespace arenite::os
