// The fake of os/memory.h that unit and state tests link: real memory, in a range of address space of its own, with
// books. It checks that every call is legal (page-aligned, and on ranges that are mapped, reserved or usable as the
// call needs), can refuse calls on demand, plays any page size, and knows what is still mapped. Equal calls get equal
// places. An illegal call ends the process with a line that says what was wrong.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arenite::fake {

enum class Call : std::uint8_t {
  kReserve,
  kReserveAt,
  kCommit,
  kMakeReadable,
  kPurge,
  kReplace,
  kDecommit,
  kRelease,
  kMap,
  kResizeInPlace,
  kMove,
  kAdviseHuge,
  kCommitHuge,
  kMapHuge,
  kGuard,
  kUnguard,
};
inline constexpr std::size_t kCalls = 16;

// The page size that os::page_size() tells; a multiple of the kernel's own.
void set_page_size(std::size_t bytes);

// Whether the kernel played has guards inside of mappings; at first it has none.
void have_guards(bool has_guards);

// Refusals. The n-th call from now on fails once; 1 is the next. The second form counts calls of one kind only.
void fail_call(std::size_t n);
void fail_call(Call kind, std::size_t n);
// Every call of the kind fails.
void fail_all(Call kind);
// What would make more than this much mapped, or usable (committed), is refused.
void limit_mapped(std::size_t bytes);
void limit_usable(std::size_t bytes);
// What would take more than this much from the pool of huge pages is refused. The pool is without bounds at first.
void limit_pool(std::size_t bytes);
// No refusals any more.
void allow_all();
// Whether a call has been refused since the last of the functions above.
bool refused();

// The next reserve() or map() is to be placed here. Used up by that call, which fails if the place is taken.
void place_next(std::uintptr_t address);

std::size_t calls();
std::size_t calls(Call kind);

// What is mapped, reserved or usable, in bytes; what of it is usable; what of that is from the pool of huge pages.
std::size_t mapped_bytes();
std::size_t usable_bytes();
std::size_t pool_bytes();
// Whether all of the range is mapped; whether all of it is usable.
bool is_mapped(const void* address, std::size_t bytes);
bool is_usable(const void* address, std::size_t bytes);

// Unmap everything; counters to 0, refusals off, the page size 4 KiB, no guards. `visit` sees each range first.
void forget_everything(void (*visit)(std::uintptr_t start, std::uintptr_t end));

}  // namespace arenite::fake
