#include "os/libc_blocks.h"

#include <cstdint>
#include <string_view>

#include "base/bits.h"
#include "base/relaxed.h"
#include "os/file.h"
#include "os/kernel_text.h"
#include "os/memory.h"
#include "os/safe_read.h"
#include "os/symbols.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

// In front of a block stand the size of the chunk before it, if that is free, and its own, with flags.
struct ChunkHeader {
  std::size_t size_before;
  std::size_t size_and_flags;
};

constexpr std::size_t kIsMapped = 2;
constexpr std::size_t kOtherArena = 4;
constexpr std::size_t kFlags = 7;
constexpr std::size_t kLeastChunk = 32;
constexpr std::size_t kChunkAlignment = 16;

// Chunks of threads lie in windows of this size, and the first words of a window tell the arena and the length.
constexpr std::size_t kWindow = std::size_t{64} << 20;
struct WindowHeader {
  std::uintptr_t arena;
  std::uintptr_t window_before;
  std::size_t size;
};

// A chunk with a mapping of its own fills whole pages, up to what was cut off in front for its alignment.
bool is_mapped_chunk(std::uintptr_t chunk, std::size_t size, std::size_t cut_off) {
  return is_aligned(chunk - cut_off, page_size()) && is_aligned(cut_off + size, page_size()) && cut_off <= chunk;
}

bool is_thread_chunk(std::uintptr_t chunk, std::size_t size) {
  const std::uintptr_t window = chunk & ~(kWindow - 1);
  WindowHeader header;
  if (!safe_read(pointer_at(window), &header, sizeof header)) return false;
  // The arena itself lies at the start of its first window.
  const std::uintptr_t arena_window = header.arena & ~(kWindow - 1);
  const bool is_first = header.window_before == 0;
  return header.size <= kWindow && is_aligned(header.size, page_size()) && chunk + size <= window + header.size &&
         header.arena - arena_window < page_size() && header.arena != arena_window &&
         is_first == (arena_window == window);
}

// Where the memory begins that a program gets by moving the break; the highest address if the kernel does not tell. It
// is field 47 of the file; field 2, in brackets, may hold anything.
std::uintptr_t read_lowest_break() {
  char buffer[1024];
  std::string_view text = read_file("/proc/self/stat", buffer, sizeof buffer);
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) return UINTPTR_MAX;
  text.remove_prefix(bracket);
  for (int field = 2; field < 47; ++field) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return UINTPTR_MAX;
    text.remove_prefix(blank + 1);
  }
  return leading_number(text);
}

// Nobody but libc's malloc moves the break, but for programs with an allocator of their own kind.
bool is_main_chunk(std::uintptr_t chunk, std::size_t size) {
  static std::uintptr_t lowest = 0;  // relaxed: every thread finds the same
  if (relaxed_load(&lowest) == 0) relaxed_store(&lowest, read_lowest_break());
  const auto end = static_cast<std::uintptr_t>(system_call(SYS_brk, 0));
  return chunk >= relaxed_load(&lowest) && chunk < end && size <= end - chunk;
}

}  // namespace

bool is_libc_block(const void* pointer) {
  const std::uintptr_t address = address_of(pointer);
  ChunkHeader header;
  if (!is_aligned(address, kChunkAlignment) || address < sizeof header) return false;
  const std::uintptr_t chunk = address - sizeof header;
  if (!safe_read(pointer_at(chunk), &header, sizeof header)) return false;
  const std::size_t size = header.size_and_flags & ~kFlags;
  const std::size_t flags = header.size_and_flags & kFlags;
  if (size < kLeastChunk || !is_aligned(size, kChunkAlignment) || size > UINTPTR_MAX - chunk) return false;
  if (flags == kIsMapped) return is_mapped_chunk(chunk, size, header.size_before);
  if ((flags & kIsMapped) != 0) return false;
  return (flags & kOtherArena) != 0 ? is_thread_chunk(chunk, size) : is_main_chunk(chunk, size);
}

const LibcMalloc& libc_malloc() {
  static LibcMalloc found;
  static bool was_looked_up = false;
  if (__atomic_load_n(&was_looked_up, __ATOMIC_ACQUIRE)) return found;
  LibcMalloc looked_up;
  looked_up.free = reinterpret_cast<void (*)(void*)>(find_symbol_in("libc.so.6", "free"));
  looked_up.usable_size = reinterpret_cast<std::size_t (*)(void*)>(find_symbol_in("libc.so.6", "malloc_usable_size"));
  relaxed_store(&found.free, looked_up.free);  // every thread finds the same
  relaxed_store(&found.usable_size, looked_up.usable_size);
  __atomic_store_n(&was_looked_up, true, __ATOMIC_RELEASE);
  return found;
}

}  // namespace arenite::os
