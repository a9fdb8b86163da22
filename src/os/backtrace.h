// Where the calling thread has come from: return addresses, the innermost first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arenite::os {

// By the chain of frame pointers, up to the first address that no call returns to. Every read is checked, so a smashed
// stack makes the result short, no more; so does code that keeps no frame pointers. Neither allocates nor takes a lock.
std::size_t backtrace(std::uintptr_t* out, std::size_t most);
// Parts of it. The chain from a given frame of the calling thread: the saved frame pointer, and the return address
// above it. Whether an address is one that code returns to: behind a call, or where signal handlers return to. True if
// this cannot be told.
std::size_t backtrace_from(const void* frame, std::uintptr_t* out, std::size_t most);
bool is_return_address(std::uintptr_t address);
// By libc's unwinder, which sees more, and which may allocate, take the loader's lock, and fault on a smashed stack.
std::size_t backtrace_by_libc(std::uintptr_t* out, std::size_t most);

}  // namespace arenite::os
