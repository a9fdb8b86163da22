#include "heap/sampled_slots.h"

#include <cstring>

#include "base/sealed.h"
#include "os/guarded_memory.h"
#include "os/memory.h"

namespace arenite {

constinit SampledSlots sampled_slots;

namespace {

// Not 0, since that is what strings end with.
unsigned char filling() { return static_cast<unsigned char>(sealed.link_secret >> 20 | 0x11); }

}  // namespace

bool SampledSlots::open() {
  const std::size_t page = os::page_size();
  const std::size_t bytes = (2 * kSlots + 1) * page;
  void* const room = os::map_guarded(kSlots * sizeof(SampledBlock));
  void* const start = room == nullptr ? nullptr : os::reserve(bytes, page);
  if (start == nullptr) {
    if (room != nullptr) os::release_guarded(room, kSlots * sizeof(SampledBlock));
    return false;
  }
  blocks_ = static_cast<SampledBlock*>(room);
  relaxed_store(&start_, address_of(start));
  relaxed_store(&bytes_, bytes);
  return true;
}

std::uintptr_t SampledSlots::page_of(std::size_t slot) const { return start_ + (2 * slot + 1) * os::page_size(); }

// Of an address between two pages, that of the nearer one.
std::size_t SampledSlots::slot_of(const void* pointer) const {
  const std::size_t page = os::page_size();
  const std::size_t offset = address_of(pointer) - start_;
  const std::size_t shifted = offset < page / 2 ? 0 : offset - page / 2;
  const std::size_t slot = shifted / (2 * page);
  return slot < kSlots ? slot : kSlots - 1;
}

void* SampledSlots::take(std::size_t size, std::size_t alignment, BlockOrigin origin, const CallRecord& by) {
  const std::size_t page = os::page_size();
  if (bytes_ == 0 || size == 0 || size > page || alignment > page) return nullptr;
  const os::LockGuard guard(lock_);
  std::size_t tried = 0;
  while (tried < kSlots && blocks_[(next_ + tried) % kSlots].state == SampledBlock::State::kLive) ++tried;
  if (tried == kSlots) return nullptr;
  const std::size_t slot = (next_ + tried) % kSlots;
  const std::uintptr_t start = page_of(slot);
  if (!os::commit(pointer_at(start), page)) return nullptr;
  next_ = slot + 1;
  SampledBlock& block = blocks_[slot];
  const bool at_end = block.start == start || block.start == 0;  // the two places in turn
  block.start = at_end ? align_down(start + page - size, alignment) : start;
  block.requested = size;
  block.origin = origin;
  block.taken = by;
  block.given = {};
  std::memset(pointer_at(start), filling(), block.start - start);
  std::memset(pointer_at(block.start + size), filling(), start + page - (block.start + size));
  relaxed_store(&block.state, SampledBlock::State::kLive);
  return pointer_at(block.start);
}

bool SampledSlots::is_filled(std::uintptr_t from, std::uintptr_t to) const {
  const unsigned char expected = filling();
  unsigned differences = 0;
  for (std::uintptr_t at = from; at < to; ++at) {
    differences |= *static_cast<const unsigned char*>(pointer_at(at)) ^ expected;
  }
  return differences == 0;
}

bool SampledSlots::is_whole(const SampledBlock& block) const {
  const std::uintptr_t page = align_down(block.start, os::page_size());
  return is_filled(page, block.start) && is_filled(block.start + block.requested, page + os::page_size());
}

// Where the system refuses, the page keeps its access, and its old content until the slot is used again.
bool SampledSlots::give(void* pointer, const CallRecord& by) {
  const os::LockGuard guard(lock_);
  if (find(pointer) == nullptr) return false;
  SampledBlock& block = blocks_[slot_of(pointer)];
  block.given = by;
  void* const page = pointer_at(align_down(block.start, os::page_size()));
  relaxed_store(&block.state, SampledBlock::State::kFreed);
  if (!os::decommit(page, os::page_size())) std::memset(page, 0, os::page_size());
  return true;
}

}  // namespace arenite
