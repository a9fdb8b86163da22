// Memory from the operating system. Every call may fail, says so in its result, and then changes nothing.
// `address` and `bytes` are multiples of the page size unless said otherwise. Unit tests link a fake of this file.
#pragma once

#include <cstddef>

namespace arenite::os {

// 4, 16 or 64 KiB: a run-time value of the kernel.
std::size_t page_size();

// Address space without memory, aligned to `alignment` (a power of two). Null on failure.
void* reserve(std::size_t bytes, std::size_t alignment);
// The same at a fixed address, only where nothing is mapped yet.
bool reserve_at(void* address, std::size_t bytes);

// Make reserved pages usable: zero-filled until written.
bool commit(void* address, std::size_t bytes);
// Make reserved pages readable as zeros without a commit charge.
bool make_readable(void* address, std::size_t bytes);

// Give the pages back, keep the address range usable; they read as zero afterwards.
bool purge(void* address, std::size_t bytes);
// The same by mapping fresh pages over the range, so that nothing of the old ones is left.
bool replace(void* address, std::size_t bytes);
// Give the pages and their commit charge back; the range is reserved again, as after reserve().
bool decommit(void* address, std::size_t bytes);
// Give the address range back as well.
bool release(void* address, std::size_t bytes);

// Zero-filled, usable memory of its own. Null on failure.
void* map(std::size_t bytes, std::size_t alignment);
// Make a mapping longer or shorter where it stands.
bool resize_in_place(void* address, std::size_t old_bytes, std::size_t new_bytes);
// The same where the system finds room; the old range is then unmapped. Null, and nothing changed, on failure.
void* move(void* address, std::size_t old_bytes, std::size_t new_bytes);

}  // namespace arenite::os
