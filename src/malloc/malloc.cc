// malloc, free and their kin: classify, try the thread's cache, else go the slow way. The whole hot path of the library
// is this file, fast_path.h and the two functions take() and give() of the thread cache.
#include <cstring>

#include "malloc/allocate.h"
#include "malloc/exports.h"
#include "malloc/fast_path.h"
#include "malloc/no_memory.h"

using namespace arenite;

namespace {

ARENITE_NOINLINE void* malloc_slow(std::size_t size) { return or_no_memory(allocate(size, kMinAlignment).pointer); }

ARENITE_NOINLINE void* calloc_slow(std::size_t size) {
  const Allocation result = allocate(size, kMinAlignment);
  if (result.pointer != nullptr && !result.zeroed) std::memset(result.pointer, 0, size);
  return or_no_memory(result.pointer);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  if (void* const slot = take_fast(size); ARENITE_LIKELY(slot != nullptr)) return slot;
  return malloc_slow(size);
}

void free(void* pointer) noexcept {
  if (ARENITE_LIKELY(ThreadCache::current().give(pointer))) return;
  deallocate(pointer);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  const std::size_t bytes = saturating_mul(count, size);
  if (void* const slot = take_fast(bytes); ARENITE_LIKELY(slot != nullptr)) return std::memset(slot, 0, bytes);
  return calloc_slow(bytes);
}

void* realloc(void* pointer, std::size_t size) noexcept {
  if (pointer == nullptr) return malloc(size);
  if (size == 0) {
    free(pointer);
    return nullptr;
  }
  const Resized result = reallocate(pointer, size);
  return result.misused ? nullptr : or_no_memory(result.pointer);
}

void* reallocarray(void* pointer, std::size_t count, std::size_t size) noexcept {
  return realloc(pointer, saturating_mul(count, size));
}

void free_sized(void* pointer, std::size_t size) noexcept {
  deallocate_sized(pointer, size, kMinAlignment, SizeRule::kResized);
}

void free_aligned_sized(void* pointer, std::size_t alignment, std::size_t size) noexcept {
  deallocate_sized(pointer, size, alignment, SizeRule::kResized);
}

void cfree(void* pointer) noexcept { free(pointer); }

std::size_t malloc_usable_size(void* pointer) noexcept { return usable_size(pointer); }

// glibc's private names for the same functions.
void* __libc_malloc(std::size_t size) noexcept { return malloc(size); }
void __libc_free(void* pointer) noexcept { free(pointer); }
void* __libc_calloc(std::size_t count, std::size_t size) noexcept { return calloc(count, size); }
void* __libc_realloc(void* pointer, std::size_t size) noexcept { return realloc(pointer, size); }
void* __libc_reallocarray(void* pointer, std::size_t count, std::size_t size) noexcept {
  return reallocarray(pointer, count, size);
}

}  // extern "C"
