// The exported functions, as libc declares them: each with the visibility that lets it take libc's place.
#pragma once

#include <malloc.h>
#include <stdio.h>

#include <cstddef>

#include "base/attributes.h"

extern "C" {

ARENITE_EXPORT void* malloc(std::size_t size) noexcept;
ARENITE_EXPORT void free(void* pointer) noexcept;
ARENITE_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept;
ARENITE_EXPORT void* realloc(void* pointer, std::size_t size) noexcept;
ARENITE_EXPORT void* reallocarray(void* pointer, std::size_t count, std::size_t size) noexcept;
ARENITE_EXPORT void free_sized(void* pointer, std::size_t size) noexcept;
ARENITE_EXPORT void free_aligned_sized(void* pointer, std::size_t alignment, std::size_t size) noexcept;
ARENITE_EXPORT void cfree(void* pointer) noexcept;

ARENITE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept;
ARENITE_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept;
ARENITE_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept;
ARENITE_EXPORT void* valloc(std::size_t size) noexcept;
ARENITE_EXPORT void* pvalloc(std::size_t size) noexcept;

ARENITE_EXPORT std::size_t malloc_usable_size(void* pointer) noexcept;
ARENITE_EXPORT int mallopt(int parameter, int value) noexcept;
ARENITE_EXPORT struct mallinfo mallinfo() noexcept;
ARENITE_EXPORT struct mallinfo2 mallinfo2() noexcept;
ARENITE_EXPORT int malloc_trim(std::size_t pad) noexcept;
ARENITE_EXPORT void malloc_stats() noexcept;
ARENITE_EXPORT int malloc_info(int version, FILE* stream) noexcept;
ARENITE_EXPORT void* malloc_get_state() noexcept;
ARENITE_EXPORT int malloc_set_state(void* state) noexcept;

ARENITE_EXPORT void* dlopen(const char* file, int mode) noexcept;

ARENITE_EXPORT void* __libc_malloc(std::size_t size) noexcept;
ARENITE_EXPORT void __libc_free(void* pointer) noexcept;
ARENITE_EXPORT void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
ARENITE_EXPORT void* __libc_realloc(void* pointer, std::size_t size) noexcept;
ARENITE_EXPORT void* __libc_reallocarray(void* pointer, std::size_t count, std::size_t size) noexcept;
ARENITE_EXPORT void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;
ARENITE_EXPORT void* __libc_valloc(std::size_t size) noexcept;
ARENITE_EXPORT void* __libc_pvalloc(std::size_t size) noexcept;
ARENITE_EXPORT int __libc_mallopt(int parameter, int value) noexcept;
ARENITE_EXPORT struct mallinfo __libc_mallinfo() noexcept;

}  // extern "C"
