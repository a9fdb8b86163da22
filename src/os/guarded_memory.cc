#include "os/guarded_memory.h"

#include <sys/mman.h>

#include "base/bits.h"
#include "os/memory.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

struct Extent {
  explicit Extent(std::size_t bytes)
      : guard(page_size()), inside(align_up(bytes, guard)), whole(guard + inside + guard) {}
  std::size_t guard;
  std::size_t inside;
  std::size_t whole;
};

}  // namespace

bool forbid(void* address, std::size_t bytes) { return guard(address, bytes) || decommit(address, bytes); }

void* map_guarded(std::size_t bytes) {
  const Extent extent(bytes);
  void* const base = map(extent.whole, extent.guard);
  if (base == nullptr) return nullptr;
  void* const start = pointer_at(address_of(base) + extent.guard);
  if (forbid(base, extent.guard) && forbid(pointer_at(address_of(start) + extent.inside), extent.guard)) return start;
  release(base, extent.whole);
  return nullptr;
}

bool seal(void* start, std::size_t bytes) {
  return is_aligned(address_of(start) | bytes, page_size()) &&
         !failed(system_call(SYS_mprotect, as_argument(start), as_argument(bytes), PROT_READ));
}

bool release_guarded(void* start, std::size_t bytes) {
  const Extent extent(bytes);
  return release(pointer_at(address_of(start) - extent.guard), extent.whole);
}

}  // namespace arenite::os
