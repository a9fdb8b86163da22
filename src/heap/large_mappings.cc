#include "heap/large_mappings.h"

#include <bit>
#include <utility>

#include "base/bits.h"
#include "base/relaxed.h"
#include "heap/footprint.h"
#include "heap/huge_use.h"
#include "os/guarded_memory.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {

constinit LargeMappings large_mappings;

namespace {

// Multiplicative hashing of the page number; the high bits are the mixed ones.
std::uint64_t hash_of(std::uintptr_t address) { return (address >> 12) * 0x9e3779b97f4a7c15ULL; }

std::size_t page_round(std::size_t bytes) {
  const std::size_t sum = saturating_add(bytes, os::page_size() - 1);
  return sum == SIZE_MAX ? 0 : align_down(sum, os::page_size());
}

template <typename T>
void raise_to(T* peak, T value) {
  T seen = relaxed_load(peak);
  while (value > seen && !__atomic_compare_exchange_n(peak, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

}  // namespace

LargeMappings::Shard& LargeMappings::shard_of(const void* pointer) {
  return shards_[hash_of(address_of(pointer)) >> 60];
}

std::size_t LargeMappings::Shard::place_of(std::uintptr_t address) const {
  return static_cast<std::size_t>(hash_of(address) >> 20) & (capacity - 1);
}

LargeMappings::Entry* LargeMappings::Shard::find(std::uintptr_t address, State state, std::size_t bytes) {
  if (capacity == 0 || address == 0) return nullptr;
  for (std::size_t at = place_of(address); entries[at].address != 0; at = (at + 1) & (capacity - 1)) {
    Entry& entry = entries[at];
    if (entry.address == address && entry.state == state && (bytes == 0 || entry.bytes == bytes)) return &entry;
  }
  return nullptr;
}

bool LargeMappings::Shard::make_room() {
  if (capacity != 0 && (used + promised + 1) * 4 <= capacity * 3) return true;
  const std::size_t new_capacity = capacity == 0 ? std::bit_floor(os::page_size() / sizeof(Entry)) : capacity * 2;
  auto* const new_entries = static_cast<Entry*>(os::map_guarded(new_capacity * sizeof(Entry)));
  if (new_entries == nullptr) return false;
  Entry* const old_entries = entries;
  const std::size_t old_capacity = capacity;
  entries = new_entries;
  capacity = new_capacity;
  used = 0;
  for (std::size_t at = 0; at < old_capacity; ++at) {
    if (old_entries[at].address != 0) place(old_entries[at]);
  }
  if (old_capacity != 0) os::release_guarded(old_entries, old_capacity * sizeof(Entry));
  return true;
}

void LargeMappings::Shard::place(Entry entry) {
  std::size_t at = place_of(entry.address);
  while (entries[at].address != 0) at = (at + 1) & (capacity - 1);
  entries[at] = entry;
  ++used;
}

// Closes the gap, so that no search ends before an entry that stands behind it.
void LargeMappings::Shard::erase(Entry* entry) {
  auto gap = static_cast<std::size_t>(entry - entries);
  for (std::size_t at = (gap + 1) & (capacity - 1); entries[at].address != 0; at = (at + 1) & (capacity - 1)) {
    const std::size_t place = place_of(entries[at].address);
    const bool reaches_gap = ((at - place) & (capacity - 1)) >= ((at - gap) & (capacity - 1));
    if (!reaches_gap) continue;
    entries[gap] = entries[at];
    gap = at;
  }
  entries[gap] = {};
  --used;
}

void LargeMappings::count_change(std::ptrdiff_t count, std::ptrdiff_t bytes) {
  const std::size_t new_count = __atomic_add_fetch(&figures_.count, static_cast<std::size_t>(count), __ATOMIC_RELAXED);
  const std::size_t new_bytes = __atomic_add_fetch(&figures_.bytes, static_cast<std::size_t>(bytes), __ATOMIC_RELAXED);
  if (count > 0) raise_to(&figures_.max_count, new_count);
  if (bytes > 0) raise_to(&figures_.max_bytes, new_bytes);
}

// Whole pages of the pool where that is asked for, if the request is not below one, and the pool has them.
bool LargeMappings::map(std::size_t bytes, std::size_t alignment, Entry* entry) {
  const HugeUse huge = huge_use_of_mappings();
  const bool guarded = options.hardened(Feature::guards);
  const bool is_huge = !guarded && huge.page != 0 && bytes >= huge.page;
  const std::size_t least = is_huge ? huge.page : os::page_size();
  if (is_huge && huge.kind == HugeUse::Kind::kPool && bytes <= SIZE_MAX - huge.page) {
    const std::size_t length = align_up(bytes, huge.page);
    entry->address = address_of(os::map_huge(length, alignment > least ? alignment : least, huge.page));
    entry->bytes = length;
    entry->from_pool = true;
    entry->padding = static_cast<std::uint32_t>(length - page_round(bytes));
    if (entry->address != 0) return true;
  }
  const std::size_t length = page_round(bytes == 0 ? 1 : bytes);
  if (length == 0) return false;
  if (guarded) return map_guarded(length, alignment, entry);
  void* const pointer = os::map(length, alignment > least ? alignment : least);
  if (is_huge && huge.kind == HugeUse::Kind::kAlways && pointer != nullptr) os::advise_huge(pointer, length, true);
  *entry = {.address = address_of(pointer), .bytes = length};
  return pointer != nullptr;
}

// Address space only: for the mapping, and around it.
bool LargeMappings::reserve_guarded(std::size_t length, std::size_t alignment, Entry* entry) {
  const std::size_t page = os::page_size();
  const std::size_t in_front = alignment > page ? alignment : page;
  const std::size_t whole = saturating_add(saturating_add(length, in_front), page);
  void* const base = whole == SIZE_MAX ? nullptr : os::reserve(whole, in_front);
  if (base == nullptr) return false;
  *entry = {.address = address_of(base) + in_front, .bytes = length, .in_front = in_front, .behind = page};
  return true;
}

// As one mapping, where the kernel has guards; else as one that can be used, between two parts that cannot.
bool LargeMappings::map_guarded(std::size_t length, std::size_t alignment, Entry* entry) {
  if (!reserve_guarded(length, alignment, entry)) return false;
  const std::size_t page = os::page_size();
  void* const before = pointer_at(entry->address - page);
  void* const behind = pointer_at(entry->address + length);
  const bool committed = os::commit(before, page + length + page);
  if (committed && os::forbid(before, page) && os::forbid(behind, page)) return true;
  entry->release();
  return false;
}

bool LargeMappings::Entry::release() const {
  return os::release(pointer_at(address - in_front), in_front + bytes + behind);
}

bool LargeMappings::fits(std::size_t size, std::size_t length) {
  if (length == page_round(size == 0 ? 1 : size)) return true;
  const HugeUse huge = huge_use_of_mappings();
  return huge.kind == HugeUse::Kind::kPool && length == align_up(size, huge.page);
}

void LargeMappings::count_padding(std::ptrdiff_t bytes) {
  __atomic_add_fetch(&figures_.huge_padding, static_cast<std::size_t>(bytes), __ATOMIC_RELAXED);
}

void* LargeMappings::take(std::size_t bytes, std::size_t alignment) {
  if (page_round(bytes) == 0 && bytes != 0) return nullptr;
  if (!footprint.add(bytes)) return nullptr;  // the rounding follows
  Entry entry;
  if (!map(bytes, alignment, &entry)) {
    footprint.remove(bytes);
    return nullptr;
  }
  void* const pointer = enter(entry);
  if (pointer == nullptr) {
    footprint.remove(bytes);
    return nullptr;
  }
  footprint.add_rounding(entry.bytes - bytes);
  count_padding(entry.padding);
  count_change(1, static_cast<std::ptrdiff_t>(entry.bytes));
  return pointer;
}

// Its address; null, and nothing is left of it, if there is no room for the entry.
void* LargeMappings::enter(const Entry& entry) {
  void* const pointer = pointer_at(entry.address);
  {
    Shard& shard = shard_of(pointer);
    const os::LockGuard guard(shard.lock);
    if (shard.insert(entry)) return pointer;
  }
  entry.release();
  return nullptr;
}

// One page, for the address.
void* LargeMappings::take_untouchable(std::size_t alignment) {
  Entry entry;
  if (!reserve_guarded(os::page_size(), alignment, &entry)) return nullptr;
  entry.untouchable = true;
  return enter(entry);
}

LargeMappings::Entry LargeMappings::entry_of(const void* pointer) {
  Shard& shard = shard_of(pointer);
  const os::LockGuard guard(shard.lock);
  const Entry* const entry = shard.find(address_of(pointer), State::kLive);
  return entry == nullptr ? Entry{} : *entry;
}

LargeBlock LargeMappings::find(const void* pointer) {
  const Entry entry = entry_of(pointer);
  return {.bytes = entry.bytes, .untouchable = entry.untouchable};
}

std::size_t LargeMappings::give(void* pointer) {
  Entry given;
  const bool waits = options.hardened(Feature::guards);
  {
    Shard& shard = shard_of(pointer);
    const os::LockGuard guard(shard.lock);
    Entry* const entry = shard.find(address_of(pointer), State::kLive);
    if (entry == nullptr) return 0;
    given = *entry;
    entry->state = waits && !given.from_pool ? State::kWaiting : State::kLeaving;
    given.state = entry->state;
  }
  if (!given.untouchable) {
    footprint.remove(given.bytes);
    count_padding(-static_cast<std::ptrdiff_t>(given.padding));
    count_change(-1, -static_cast<std::ptrdiff_t>(given.bytes));
  }
  if (given.state == State::kWaiting) {
    let_wait(given);
  } else {
    unmap(given);
  }
  return given.bytes;
}

// The entry is leaving.
void LargeMappings::unmap(const Entry& entry) {
  void* const pointer = pointer_at(entry.address);
  const bool left = entry.release();
  if (!left && !entry.untouchable) os::purge(pointer, entry.bytes);
  leave(pointer, entry.bytes, left);
  if (left) release_stranded();
}

// Its pages go, its address stays, and the one that has waited longest leaves. Where the system refuses, it leaves
// itself.
void LargeMappings::let_wait(const Entry& entry) {
  void* const pointer = pointer_at(entry.address);
  if (entry.bytes > kLargestWaiting || (!entry.untouchable && !os::decommit(pointer, entry.bytes))) {
    end_wait(pointer);
    return;
  }
  void* longest = pointer;
  {
    const os::LockGuard guard(waiting_lock_);
    std::swap(longest, waiting_[next_waiting_]);
    next_waiting_ = (next_waiting_ + 1) % kMostWaiting;
  }
  if (longest != nullptr) end_wait(longest);
}

std::size_t LargeMappings::end_waits() {
  std::size_t released = 0;
  for (void*& place : waiting_) {
    void* pointer = nullptr;
    {
      const os::LockGuard guard(waiting_lock_);
      std::swap(pointer, place);
    }
    if (pointer != nullptr) released += end_wait(pointer);
  }
  while (release_stranded()) {
  }
  return released;
}

std::size_t LargeMappings::end_wait(void* pointer) {
  Entry leaving;
  {
    Shard& shard = shard_of(pointer);
    const os::LockGuard guard(shard.lock);
    Entry* const entry = shard.find(address_of(pointer), State::kWaiting);
    if (entry == nullptr) return 0;
    entry->state = State::kLeaving;
    leaving = *entry;
  }
  unmap(leaving);
  return leaving.bytes;
}

// What was leaving has left, or is stranded.
void LargeMappings::leave(const void* pointer, std::size_t bytes, bool left) {
  Shard& shard = shard_of(pointer);
  const os::LockGuard guard(shard.lock);
  Entry* const entry = shard.find(address_of(pointer), State::kLeaving, bytes);
  if (left) {
    shard.erase(entry);
  } else {
    entry->state = State::kStranded;
    __atomic_add_fetch(&stranded_, 1, __ATOMIC_RELAXED);
  }
}

// One of them is tried.
bool LargeMappings::release_stranded() {
  if (ARENITE_LIKELY(relaxed_load(&stranded_) == 0)) return false;
  for (Shard& shard : shards_) {
    const os::LockGuard guard(shard.lock);
    for (std::size_t at = 0; at < shard.capacity; ++at) {
      Entry& entry = shard.entries[at];
      if (entry.address == 0 || entry.state != State::kStranded) continue;
      if (!entry.release()) return false;
      shard.erase(&entry);
      __atomic_sub_fetch(&stranded_, 1, __ATOMIC_RELAXED);
      return true;
    }
  }
  return false;
}

void* LargeMappings::resize(void* pointer, std::size_t bytes) {
  const std::size_t length = page_round(bytes == 0 ? 1 : bytes);
  const Entry old = length == 0 ? Entry{} : entry_of(pointer);
  const std::size_t old_length = old.bytes;
  if (old_length == 0) return nullptr;
  if (old_length == length) return pointer;
  if (old.untouchable || old.in_front != 0) return nullptr;
  if (old.from_pool) return fits(bytes, old_length) ? pointer : nullptr;
  const std::size_t growth = length > old_length ? length - old_length : 0;
  if (growth != 0 && !footprint.add(growth)) return nullptr;
  void* resized = resize_in_place(pointer, old_length, length) ? pointer : nullptr;
  if (resized == nullptr && growth != 0) resized = move(pointer, old_length, length);
  if (resized == nullptr) {
    footprint.remove(growth);
    return nullptr;
  }
  if (growth == 0) footprint.remove(old_length - length);
  count_change(0, static_cast<std::ptrdiff_t>(length) - static_cast<std::ptrdiff_t>(old_length));
  return resized;
}

// False if the system refuses, or if there is no such entry any more, which only misuse can bring about.
bool LargeMappings::resize_in_place(void* pointer, std::size_t old_length, std::size_t length) {
  Shard& shard = shard_of(pointer);
  const os::LockGuard guard(shard.lock);
  Entry* const entry = shard.find(address_of(pointer), State::kLive, old_length);
  if (entry == nullptr || !os::resize_in_place(pointer, old_length, length)) return false;
  entry->bytes = length;
  return true;
}

// The new address is the system's choice, and what has moved cannot be moved back: so there is room for it in every
// shard before it moves.
void* LargeMappings::move(void* pointer, std::size_t old_length, std::size_t length) {
  if (!promise_room()) return nullptr;
  if (!set_state(pointer, old_length, State::kLive, State::kLeaving)) {
    end_promise(nullptr);
    return nullptr;
  }
  void* const moved = os::move(pointer, old_length, length);
  if (moved == nullptr) {
    set_state(pointer, old_length, State::kLeaving, State::kLive);
    end_promise(nullptr);
    return nullptr;
  }
  leave(pointer, old_length, /*left=*/true);
  const Entry entry{.address = address_of(moved), .bytes = length, .state = State::kLive};
  end_promise(&entry);
  return moved;
}

// False if there is no entry of that state, which only misuse can bring about.
bool LargeMappings::set_state(const void* pointer, std::size_t bytes, State from, State to) {
  Shard& shard = shard_of(pointer);
  const os::LockGuard guard(shard.lock);
  Entry* const entry = shard.find(address_of(pointer), from, bytes);
  if (entry == nullptr) return false;
  entry->state = to;
  return true;
}

// Room for one entry more in each shard; false, and none, if one of them cannot have it.
bool LargeMappings::promise_room() {
  for (std::size_t index = 0; index < kShards; ++index) {
    Shard& shard = shards_[index];
    bool promised = false;
    {
      const os::LockGuard guard(shard.lock);
      promised = shard.make_room();
      if (promised) ++shard.promised;
    }
    if (promised) continue;
    while (index-- > 0) {
      const os::LockGuard guard(shards_[index].lock);
      --shards_[index].promised;
    }
    return false;
  }
  return true;
}

// The promises end; `entry`, if there is one, takes up the one of its shard.
void LargeMappings::end_promise(const Entry* entry) {
  for (Shard& shard : shards_) {
    const os::LockGuard guard(shard.lock);
    --shard.promised;
    if (entry != nullptr && &shard == &shard_of(pointer_at(entry->address))) shard.place(*entry);
  }
}

LargeFigures LargeMappings::figures() const {
  return {.count = relaxed_load(&figures_.count),
          .bytes = relaxed_load(&figures_.bytes),
          .max_count = relaxed_load(&figures_.max_count),
          .max_bytes = relaxed_load(&figures_.max_bytes),
          .huge_padding = relaxed_load(&figures_.huge_padding)};
}

}  // namespace arenite
