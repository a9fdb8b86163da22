// The C++ operators: malloc's fast path; when memory is out, the new-handler until it gives up, then bad_alloc or null.
#include <new>

#include "malloc/allocate.h"
#include "malloc/cxx_runtime.h"
#include "malloc/fast_path.h"
#include "malloc/no_memory.h"

using namespace arenite;

namespace {

// In blocks that know it: new and new[] do not go with each other's delete.
constexpr BlockOrigin kOne = BlockOrigin::kNew;
constexpr BlockOrigin kArray = BlockOrigin::kNewArray;

template <BlockOrigin kOrigin>
ARENITE_NOINLINE void* new_slow(std::size_t size, std::size_t alignment) {
  for (;;) {
    void* const block = or_no_memory(allocate(size, alignment, kOrigin).pointer);
    if (block != nullptr) return block;
    const std::new_handler handler = installed_new_handler();
    if (handler == nullptr) throw_bad_alloc();
    handler();
  }
}

template <BlockOrigin kOrigin>
ARENITE_ALWAYS_INLINE void* new_plain(std::size_t size) {
  if (void* const slot = take_fast(size); ARENITE_LIKELY(slot != nullptr)) return slot;
  return new_slow<kOrigin>(size, kMinAlignment);
}

// The new-handler is asked as by the throwing forms; what it throws ends as null.
template <BlockOrigin kOrigin>
ARENITE_NOINLINE void* new_nothrow_slow(std::size_t size, std::size_t alignment) {
  void* block = or_no_memory(allocate(size, alignment, kOrigin).pointer);
  if (block != nullptr || installed_new_handler() == nullptr) return block;
  block = new_or_null(size, alignment);
  if (block != nullptr && kOrigin != BlockOrigin::kNew) set_origin(block, kOrigin);
  return block;
}

template <BlockOrigin kOrigin>
ARENITE_ALWAYS_INLINE void* new_nothrow(std::size_t size) {
  if (void* const slot = take_fast(size); ARENITE_LIKELY(slot != nullptr)) return slot;
  return new_nothrow_slow<kOrigin>(size, kMinAlignment);
}

template <BlockOrigin kOrigin>
ARENITE_ALWAYS_INLINE void delete_plain(void* pointer) {
  if (ARENITE_LIKELY(ThreadCache::current().give(pointer))) return;
  deallocate(pointer, kOrigin);
}

template <BlockOrigin kOrigin>
ARENITE_ALWAYS_INLINE void delete_sized(void* pointer, std::size_t size) {
  if (ARENITE_LIKELY(size <= kMaxSlotSize)) {
    const std::size_t expected = class_for(size).value;
    if (ARENITE_LIKELY(ThreadCache::current().give_if(pointer, [=](std::size_t cls) { return cls == expected; })))
      return;
  }
  deallocate_sized(pointer, size, kMinAlignment, SizeRule::kExact, kOrigin);
}

std::size_t value_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

ARENITE_EXPORT void* operator new(std::size_t size) { return new_plain<kOne>(size); }
ARENITE_EXPORT void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return new_nothrow<kOne>(size); }
ARENITE_EXPORT void* operator new(std::size_t size, std::align_val_t alignment) {
  return new_slow<kOne>(size, value_of(alignment));
}
ARENITE_EXPORT void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_nothrow_slow<kOne>(size, value_of(alignment));
}

ARENITE_EXPORT void* operator new[](std::size_t size) { return new_plain<kArray>(size); }
ARENITE_EXPORT void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return new_nothrow<kArray>(size);
}
ARENITE_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment) {
  return new_slow<kArray>(size, value_of(alignment));
}
ARENITE_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_nothrow_slow<kArray>(size, value_of(alignment));
}

ARENITE_EXPORT void operator delete(void* pointer) noexcept { delete_plain<kOne>(pointer); }
ARENITE_EXPORT void operator delete(void* pointer, const std::nothrow_t&) noexcept { delete_plain<kOne>(pointer); }
ARENITE_EXPORT void operator delete(void* pointer, std::size_t size) noexcept { delete_sized<kOne>(pointer, size); }
ARENITE_EXPORT void operator delete(void* pointer, std::align_val_t alignment) noexcept {
  deallocate_aligned(pointer, value_of(alignment), kOne);
}
ARENITE_EXPORT void operator delete(void* pointer, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  deallocate_aligned(pointer, value_of(alignment), kOne);
}
ARENITE_EXPORT void operator delete(void* pointer, std::size_t size, std::align_val_t alignment) noexcept {
  deallocate_sized(pointer, size, value_of(alignment), SizeRule::kExact, kOne);
}

ARENITE_EXPORT void operator delete[](void* pointer) noexcept { delete_plain<kArray>(pointer); }
ARENITE_EXPORT void operator delete[](void* pointer, const std::nothrow_t&) noexcept { delete_plain<kArray>(pointer); }
ARENITE_EXPORT void operator delete[](void* pointer, std::size_t size) noexcept { delete_sized<kArray>(pointer, size); }
ARENITE_EXPORT void operator delete[](void* pointer, std::align_val_t alignment) noexcept {
  deallocate_aligned(pointer, value_of(alignment), kArray);
}
ARENITE_EXPORT void operator delete[](void* pointer, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  deallocate_aligned(pointer, value_of(alignment), kArray);
}
ARENITE_EXPORT void operator delete[](void* pointer, std::size_t size, std::align_val_t alignment) noexcept {
  deallocate_sized(pointer, size, value_of(alignment), SizeRule::kExact, kArray);
}
