// The C++ operators: malloc's fast path; when memory is out, the new-handler until it gives up, then bad_alloc or null.
#include <new>

#include "malloc/allocate.h"
#include "malloc/cxx_runtime.h"
#include "malloc/fast_path.h"

using namespace arenite;

namespace {

ARENITE_NOINLINE void* new_slow(std::size_t size, std::size_t alignment) {
  for (;;) {
    if (void* const pointer = allocate(size, alignment).pointer; pointer != nullptr) return pointer;
    const std::new_handler handler = installed_new_handler();
    if (handler == nullptr) throw_bad_alloc();
    handler();
  }
}

ARENITE_ALWAYS_INLINE void* new_plain(std::size_t size) {
  if (void* const slot = take_fast(size); ARENITE_LIKELY(slot != nullptr)) return slot;
  return new_slow(size, kMinAlignment);
}

// The new-handler is asked as by the throwing forms; what it throws ends as null.
ARENITE_NOINLINE void* new_nothrow_slow(std::size_t size, std::size_t alignment) {
  if (void* const pointer = allocate(size, alignment).pointer; pointer != nullptr) return pointer;
  return installed_new_handler() == nullptr ? nullptr : new_or_null(size, alignment);
}

ARENITE_ALWAYS_INLINE void* new_nothrow(std::size_t size) {
  if (void* const slot = take_fast(size); ARENITE_LIKELY(slot != nullptr)) return slot;
  return new_nothrow_slow(size, kMinAlignment);
}

ARENITE_ALWAYS_INLINE void delete_plain(void* pointer) {
  if (ARENITE_LIKELY(ThreadCache::current().give(pointer))) return;
  deallocate(pointer);
}

ARENITE_ALWAYS_INLINE void delete_sized(void* pointer, std::size_t size) {
  if (ARENITE_LIKELY(size <= kMaxSlotSize)) {
    const std::size_t expected = class_for(size).value;
    if (ARENITE_LIKELY(ThreadCache::current().give_if(pointer, [=](std::size_t cls) { return cls == expected; })))
      return;
  }
  deallocate_sized(pointer, size, kMinAlignment, SizeRule::kExact);
}

std::size_t value_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

ARENITE_EXPORT void* operator new(std::size_t size) { return new_plain(size); }
ARENITE_EXPORT void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return new_nothrow(size); }
ARENITE_EXPORT void* operator new(std::size_t size, std::align_val_t alignment) {
  return new_slow(size, value_of(alignment));
}
ARENITE_EXPORT void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_nothrow_slow(size, value_of(alignment));
}

ARENITE_EXPORT void* operator new[](std::size_t size) { return new_plain(size); }
ARENITE_EXPORT void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return new_nothrow(size); }
ARENITE_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment) {
  return new_slow(size, value_of(alignment));
}
ARENITE_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_nothrow_slow(size, value_of(alignment));
}

ARENITE_EXPORT void operator delete(void* pointer) noexcept { delete_plain(pointer); }
ARENITE_EXPORT void operator delete(void* pointer, const std::nothrow_t&) noexcept { delete_plain(pointer); }
ARENITE_EXPORT void operator delete(void* pointer, std::size_t size) noexcept { delete_sized(pointer, size); }
ARENITE_EXPORT void operator delete(void* pointer, std::align_val_t alignment) noexcept {
  deallocate_aligned(pointer, value_of(alignment));
}
ARENITE_EXPORT void operator delete(void* pointer, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  deallocate_aligned(pointer, value_of(alignment));
}
ARENITE_EXPORT void operator delete(void* pointer, std::size_t size, std::align_val_t alignment) noexcept {
  deallocate_sized(pointer, size, value_of(alignment), SizeRule::kExact);
}

ARENITE_EXPORT void operator delete[](void* pointer) noexcept { delete_plain(pointer); }
ARENITE_EXPORT void operator delete[](void* pointer, const std::nothrow_t&) noexcept { delete_plain(pointer); }
ARENITE_EXPORT void operator delete[](void* pointer, std::size_t size) noexcept { delete_sized(pointer, size); }
ARENITE_EXPORT void operator delete[](void* pointer, std::align_val_t alignment) noexcept {
  deallocate_aligned(pointer, value_of(alignment));
}
ARENITE_EXPORT void operator delete[](void* pointer, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  deallocate_aligned(pointer, value_of(alignment));
}
ARENITE_EXPORT void operator delete[](void* pointer, std::size_t size, std::align_val_t alignment) noexcept {
  deallocate_sized(pointer, size, value_of(alignment), SizeRule::kExact);
}
