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
// Make reserved or usable pages readable as zeros, without a commit charge. Whoever reads them meanwhile finds the old
// bytes or zeros.
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

// No access to usable pages of a mapping, without a mapping of their own. False where the kernel cannot (before 6.13).
bool guard(void* address, std::size_t bytes);
// Access again to what guard() has taken it from; zero-filled.
bool unguard(void* address, std::size_t bytes);

// Ask the kernel to use transparent huge pages in the range, or not to. False where it has none.
bool advise_huge(void* address, std::size_t bytes, bool wanted);

// Memory in pages of `huge_page_size` (a power of two) from the kernel's pool; what is given is set aside for the
// process at once. Addresses and lengths, of these and of all later calls on such ranges, are whole pages of that size:
// for less the kernel refuses, or purges nothing and does not say so. replace() (by usual pages), decommit() and
// release() give pages back to the pool. purge() may keep them set aside, or lend them out, and then ends the process
// that comes back for one that is not there.
//
// As commit(). False as well on kernels before 5.16, which cannot move such pages to where they are wanted.
bool commit_huge(void* address, std::size_t bytes, std::size_t huge_page_size);
// As map(). With an alignment beyond the page size, null as well when another thread maps something at the same moment.
void* map_huge(std::size_t bytes, std::size_t alignment, std::size_t huge_page_size);

}  // namespace arenite::os
