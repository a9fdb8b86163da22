// Memory by raw mmap, mprotect, madvise, mremap, munmap. See memory.h for the contract.
#include "os/memory.h"

#include <linux/mman.h>
#include <sys/mman.h>

#include <bit>

#include "base/bits.h"
#include "base/relaxed.h"
#include "os/process_start.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

constexpr long kPrivateAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
// A reservation is never charged, whatever the overcommit policy.
constexpr long kReservation = kPrivateAnonymous | MAP_NORESERVE;

bool succeeded(long result) { return !failed(result); }

void* map_pages(const void* hint, std::size_t bytes, long protection, long flags) {
  const long result =
      system_call(SYS_mmap, as_argument(hint), as_argument(bytes), protection, flags, /*fd=*/-1, /*offset=*/0);
  return failed(result) ? nullptr : pointer_at(static_cast<std::uintptr_t>(result));
}

// Where the kernel's choice is not aligned, the aligned place just below it is tried (the kernel fills address space
// downwards), and then more than asked for is mapped and its ends are cut off. The first way needs no more address
// space than the result.
void* map_aligned(std::size_t bytes, std::size_t alignment, long protection, long flags) {
  void* const first = map_pages(nullptr, bytes, protection, flags);
  if (first == nullptr || is_aligned(address_of(first), alignment)) return first;
  if (!release(first, bytes)) return nullptr;
  void* const below = pointer_at(align_down(address_of(first), alignment));
  if (void* const mapping = map_pages(below, bytes, protection, flags | MAP_FIXED_NOREPLACE); mapping != nullptr) {
    if (mapping == below) return mapping;
    release(mapping, bytes);  // a kernel before 4.17 takes the address as a hint
  }
  const std::size_t excess = saturating_add(bytes, alignment - page_size());
  void* const whole = map_pages(nullptr, excess, protection, flags);
  if (whole == nullptr) return nullptr;
  const std::uintptr_t start = address_of(whole);
  const std::uintptr_t aligned = align_up(start, alignment);
  const std::size_t behind = start + excess - (aligned + bytes);
  // What has been cut off may be somebody else's at once: only what is left is unmapped after a refusal.
  if (aligned != start && !release(whole, aligned - start)) {
    release(whole, excess);
    return nullptr;
  }
  if (behind != 0 && !release(pointer_at(aligned + bytes), behind)) {
    release(pointer_at(aligned), bytes + behind);
    return nullptr;
  }
  return pointer_at(aligned);
}

void* map_pool_pages(const void* hint, std::size_t bytes, std::size_t huge_page_size, long flags) {
  const long size_flag = static_cast<long>(std::countr_zero(huge_page_size)) << MAP_HUGE_SHIFT;
  return map_pages(hint, bytes, PROT_READ | PROT_WRITE, kPrivateAnonymous | MAP_HUGETLB | size_flag | flags);
}

// To be asked first: a kernel that cannot move such pages unmaps the target before it says so. It takes a length of
// less than a page for a wish to cut the page, and refuses; others round the length up and find nothing to do.
bool can_move_pool_pages(const void* pages, std::size_t huge_page_size) {
  return succeeded(
      system_call(SYS_mremap, as_argument(pages), as_argument(huge_page_size), as_argument(page_size()), /*flags=*/0));
}

bool move_pool_pages(const void* pages, const void* target, std::size_t bytes) {
  return succeeded(system_call(SYS_mremap, as_argument(pages), as_argument(bytes), as_argument(bytes),
                               MREMAP_MAYMOVE | MREMAP_FIXED, as_argument(target)));
}

}  // namespace

std::size_t page_size() {
  static std::size_t cached = 0;  // every thread computes the same value
  if (ARENITE_UNLIKELY(relaxed_load(&cached) == 0)) relaxed_store(&cached, process_start().page_size);
  return relaxed_load(&cached);
}

// The place below the last one is most likely free, and takes one call.
void* reserve(std::size_t bytes, std::size_t alignment) {
  static std::uintptr_t below_last = 0;  // relaxed: a guess
  void* place = pointer_at(relaxed_load(&below_last));
  const bool guessed = place != nullptr && is_aligned(address_of(place), alignment) && reserve_at(place, bytes);
  if (!guessed) place = map_aligned(bytes, alignment, PROT_NONE, kReservation);
  if (place != nullptr) relaxed_store(&below_last, address_of(place) - alignment);
  return place;
}

bool reserve_at(void* address, std::size_t bytes) {
  void* const mapping = map_pages(address, bytes, PROT_NONE, kReservation | MAP_FIXED_NOREPLACE);
  if (mapping == nullptr) return false;
  if (mapping == address) return true;
  release(mapping, bytes);  // a kernel before 4.17 takes the address as a hint
  return false;
}

bool commit(void* address, std::size_t bytes) {
  return succeeded(system_call(SYS_mprotect, as_argument(address), as_argument(bytes), PROT_READ | PROT_WRITE));
}

bool make_readable(void* address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_READ, kReservation | MAP_FIXED) != nullptr;
}

bool purge(void* address, std::size_t bytes) {
  return succeeded(system_call(SYS_madvise, as_argument(address), as_argument(bytes), MADV_DONTNEED));
}

// With the flags of the reservation around it, so that the kernel keeps them in one mapping.
bool replace(void* address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_READ | PROT_WRITE, kReservation | MAP_FIXED) != nullptr;
}

bool decommit(void* address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_NONE, kReservation | MAP_FIXED) != nullptr;
}

bool release(void* address, std::size_t bytes) {
  return succeeded(system_call(SYS_munmap, as_argument(address), as_argument(bytes)));
}

void* map(std::size_t bytes, std::size_t alignment) {
  return map_aligned(bytes, alignment, PROT_READ | PROT_WRITE, kPrivateAnonymous);
}

bool resize_in_place(void* address, std::size_t old_bytes, std::size_t new_bytes) {
  return succeeded(
      system_call(SYS_mremap, as_argument(address), as_argument(old_bytes), as_argument(new_bytes), /*flags=*/0));
}

void* move(void* address, std::size_t old_bytes, std::size_t new_bytes) {
  const long result =
      system_call(SYS_mremap, as_argument(address), as_argument(old_bytes), as_argument(new_bytes), MREMAP_MAYMOVE);
  return failed(result) ? nullptr : pointer_at(static_cast<std::uintptr_t>(result));
}

bool guard(void* address, std::size_t bytes) {
  constexpr long kInstallGuard = 102;
  return succeeded(system_call(SYS_madvise, as_argument(address), as_argument(bytes), kInstallGuard));
}

bool unguard(void* address, std::size_t bytes) {
  constexpr long kRemoveGuard = 103;
  return succeeded(system_call(SYS_madvise, as_argument(address), as_argument(bytes), kRemoveGuard));
}

bool advise_huge(void* address, std::size_t bytes, bool wanted) {
  const int advice = wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
  return succeeded(system_call(SYS_madvise, as_argument(address), as_argument(bytes), advice));
}

// The pages are mapped somewhere and then moved: a fixed mapping would unmap what is there before it finds that the
// pool is empty, and the range would be anybody's for a moment.
bool commit_huge(void* address, std::size_t bytes, std::size_t huge_page_size) {
  void* const pages = map_pool_pages(nullptr, bytes, huge_page_size, /*flags=*/0);
  if (pages == nullptr) return false;
  if (can_move_pool_pages(pages, huge_page_size)) {
    if (move_pool_pages(pages, address, bytes)) return true;
    reserve_at(address, bytes);  // a kernel that is out of memory itself may have come as far as to unmap it
  }
  release(pages, bytes);
  return false;
}

// Where the pages alone do not give the alignment, a reservation finds the place: to map more and cut the ends off
// would need a pool that has more.
void* map_huge(std::size_t bytes, std::size_t alignment, std::size_t huge_page_size) {
  if (alignment <= huge_page_size) return map_pool_pages(nullptr, bytes, huge_page_size, /*flags=*/0);
  void* const place = reserve(bytes, alignment);
  if (place == nullptr || !release(place, bytes)) return nullptr;
  void* const pages = map_pool_pages(place, bytes, huge_page_size, MAP_FIXED_NOREPLACE);
  if (pages == nullptr || pages == place) return pages;
  release(pages, bytes);  // a kernel before 4.17 takes the address as a hint
  return nullptr;
}

}  // namespace arenite::os
