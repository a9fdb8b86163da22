// A few slots on pages of their own, with pages without access on both sides: every so many of a hardened process's
// blocks is put here (feature `sampled`). Whatever leaves the block faults, or is seen when it comes back; so does
// whatever comes after its free, for as long as the slot is not used again. What is known of a block, and who has taken
// and given it, is kept out of band.
//
//   | no access | page 0 | no access | page 1 | no access | ...     a page has access while its block is live
//
// A block stands at the start or at the end of its page; the rest of the page is filled, and looked at when it comes
// back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/relaxed.h"
#include "heap/canary.h"
#include "os/lock.h"

namespace arenite {

// Who has called: the return addresses, the innermost first.
struct CallRecord {
  static constexpr std::size_t kMost = 16;
  std::uint32_t thread = 0;
  std::uint32_t count = 0;
  std::uintptr_t calls[kMost] = {};
};

struct SampledBlock {
  enum class State : std::uint8_t { kNone, kLive, kFreed };

  State state = State::kNone;
  BlockOrigin origin = BlockOrigin::kMalloc;
  std::uintptr_t start = 0;
  std::size_t requested = 0;  // bytes
  CallRecord taken;
  CallRecord given;
};

class SampledSlots {
 public:
  static constexpr std::size_t kSlots = 64;

  constexpr SampledSlots() = default;

  // Address space, and room for what is known of the blocks. Until it has succeeded, there are no slots.
  bool open();

  bool contains(const void* pointer) const {
    return address_of(pointer) - relaxed_load(&start_) < relaxed_load(&bytes_);
  }
  // The block that was put last into the slot around the address, or next to it. Takes no lock: of a block that others
  // change meanwhile, parts may be told as they were before.
  const SampledBlock& around(const void* pointer) const { return blocks_[slot_of(pointer)]; }
  // The live block that starts at the address, which is one of the pool's; null if none does.
  const SampledBlock* find(const void* pointer) const {
    const SampledBlock& block = around(pointer);
    const bool is_it = relaxed_load(&block.state) == SampledBlock::State::kLive && block.start == address_of(pointer);
    return is_it ? &block : nullptr;
  }

  // Zero-filled. Null if it is larger than a page, all slots are in use, or the system refuses.
  void* take(std::size_t size, std::size_t alignment, BlockOrigin origin, const CallRecord& by);
  // Whether the rest of the page of a live block is as it was filled.
  bool is_whole(const SampledBlock& block) const;
  // False if somebody else has given it meanwhile.
  bool give(void* pointer, const CallRecord& by);

  os::Lock& lock() { return lock_; }

 private:
  std::size_t slot_of(const void* pointer) const;
  std::uintptr_t page_of(std::size_t slot) const;
  bool is_filled(std::uintptr_t from, std::uintptr_t to) const;

  os::Lock lock_{os::LockRank::kMappings};
  std::uintptr_t start_ = 0;
  std::size_t bytes_ = 0;
  SampledBlock* blocks_ = nullptr;
  std::size_t next_ = 0;  // where the slots that were given back longest ago begin
};

extern SampledSlots sampled_slots;

}  // namespace arenite
