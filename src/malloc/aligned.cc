// The functions that take an alignment.
#include <errno.h>

#include <bit>

#include "base/bits.h"
#include "malloc/allocate.h"
#include "malloc/exports.h"
#include "malloc/no_memory.h"
#include "os/memory.h"

using namespace arenite;

namespace {

void* aligned_or_no_memory(std::size_t size, std::size_t alignment) {
  return or_no_memory(allocate(size, alignment).pointer);
}

}  // namespace

extern "C" {

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (std::has_single_bit(alignment)) return aligned_or_no_memory(size, alignment);
  errno = EINVAL;
  return nullptr;
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  constexpr std::size_t kLargestPower = SIZE_MAX / 2 + 1;
  if (alignment > kLargestPower) {
    errno = EINVAL;
    return nullptr;
  }
  return aligned_or_no_memory(size, std::bit_ceil(alignment));
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  if (!std::has_single_bit(alignment) || alignment < sizeof(void*)) return EINVAL;
  void* const pointer = allocate(size, alignment).pointer;
  if (pointer == nullptr) return ENOMEM;
  *result = pointer;
  return 0;
}

void* valloc(std::size_t size) noexcept { return aligned_or_no_memory(size, os::page_size()); }

void* pvalloc(std::size_t size) noexcept {
  const std::size_t page = os::page_size();
  return aligned_or_no_memory(size > SIZE_MAX - page ? SIZE_MAX : align_up(size, page), page);
}

void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
void* __libc_valloc(std::size_t size) noexcept { return valloc(size); }
void* __libc_pvalloc(std::size_t size) noexcept { return pvalloc(size); }

}  // extern "C"
