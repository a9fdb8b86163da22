// What the kernel says of huge pages: of those that it makes up by itself (transparent) and of those that the machine
// has set aside in a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite::os {

// Where the kernel uses transparent huge pages: in any mapping, in those that ask for it, in none.
enum class ThpMode : std::uint8_t { kAlways, kMadvise, kNever };

// kNever where the kernel does not tell.
ThpMode thp_mode();
// The size of a transparent huge page in bytes; 0 where the kernel does not tell.
std::size_t thp_size();
// The usual size of the pages in the pool in bytes; 0 where the kernel has no pool. Takes 8 KiB of stack.
std::size_t default_huge_page_size();

// The parts of it, for tests: what transparent_hugepage/enabled says, with the mode in brackets, and /proc/meminfo.
ThpMode thp_mode_in(std::string_view enabled);
std::size_t huge_page_size_in(std::string_view meminfo);

}  // namespace arenite::os
