#include "heap/large_mappings.h"

#include "base/bits.h"
#include "base/relaxed.h"
#include "os/memory.h"

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

LargeMappings::Shard& LargeMappings::shard_of(std::uintptr_t address) { return shards_[hash_of(address) >> 60]; }

std::size_t LargeMappings::Shard::place_of(std::uintptr_t address) const {
  return static_cast<std::size_t>(hash_of(address) >> 20) & (capacity - 1);
}

LargeMappings::Entry* LargeMappings::Shard::search(std::uintptr_t address, bool set_aside) {
  if (capacity == 0 || address == 0) return nullptr;
  for (std::size_t at = place_of(address); entries[at].address != 0; at = (at + 1) & (capacity - 1)) {
    if (entries[at].address == address && (entries[at].bytes == 0) == set_aside) return &entries[at];
  }
  return nullptr;
}

bool LargeMappings::Shard::make_room() {
  if (capacity != 0 && (used + 1) * 4 <= capacity * 3) return true;
  const std::size_t new_capacity = capacity == 0 ? os::page_size() / sizeof(Entry) : capacity * 2;
  auto* const new_entries = static_cast<Entry*>(os::map(new_capacity * sizeof(Entry), os::page_size()));
  if (new_entries == nullptr) return false;
  Entry* const old_entries = entries;
  const std::size_t old_capacity = capacity;
  entries = new_entries;
  capacity = new_capacity;
  used = 0;
  for (std::size_t at = 0; at < old_capacity; ++at) {
    if (old_entries[at].address != 0) insert(old_entries[at]);
  }
  if (old_capacity != 0) os::release(old_entries, old_capacity * sizeof(Entry));
  return true;
}

bool LargeMappings::Shard::insert(Entry entry) {
  if (!make_room()) return false;
  std::size_t at = place_of(entry.address);
  while (entries[at].address != 0) at = (at + 1) & (capacity - 1);
  entries[at] = entry;
  ++used;
  return true;
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

void* LargeMappings::take(std::size_t bytes, std::size_t alignment) {
  const std::size_t length = page_round(bytes == 0 ? 1 : bytes);
  if (length == 0) return nullptr;
  void* const pointer = os::map(length, alignment > os::page_size() ? alignment : os::page_size());
  if (pointer == nullptr) return nullptr;
  Shard& shard = shard_of(address_of(pointer));
  bool entered = false;
  {
    const os::LockGuard guard(shard.lock);
    entered = shard.insert({.address = address_of(pointer), .bytes = length});
  }
  if (!entered) {
    os::release(pointer, length);
    return nullptr;
  }
  count_change(1, static_cast<std::ptrdiff_t>(length));
  return pointer;
}

std::size_t LargeMappings::find(const void* pointer) {
  Shard& shard = shard_of(address_of(pointer));
  const os::LockGuard guard(shard.lock);
  const Entry* const entry = shard.find(address_of(pointer));
  return entry == nullptr ? 0 : entry->bytes;
}

std::size_t LargeMappings::give(void* pointer) {
  std::size_t bytes = 0;
  {
    Shard& shard = shard_of(address_of(pointer));
    const os::LockGuard guard(shard.lock);
    Entry* const entry = shard.find(address_of(pointer));
    if (entry == nullptr) return 0;
    bytes = entry->bytes;
    shard.erase(entry);
  }
  // Out of the registry first: once unmapped, the address may be given to another thread.
  count_change(-1, -static_cast<std::ptrdiff_t>(bytes));
  if (os::release(pointer, bytes)) {
    release_stranded();
  } else {
    os::purge(pointer, bytes);
    const os::LockGuard guard(stranded_.lock);
    stranded_.insert({.address = address_of(pointer), .bytes = bytes});
  }
  return bytes;
}

void LargeMappings::release_stranded() {
  if (relaxed_load(&stranded_.used) == 0) return;
  const os::LockGuard guard(stranded_.lock);
  for (std::size_t at = 0; at < stranded_.capacity; ++at) {
    Entry& entry = stranded_.entries[at];
    if (entry.address == 0) continue;
    if (os::release(pointer_at(entry.address), entry.bytes)) stranded_.erase(&entry);
    return;
  }
}

void* LargeMappings::resize(void* pointer, std::size_t bytes) {
  const std::size_t length = page_round(bytes == 0 ? 1 : bytes);
  if (length == 0) return nullptr;
  Shard& shard = shard_of(address_of(pointer));
  std::size_t old_length = 0;
  {
    const os::LockGuard guard(shard.lock);
    Entry* const entry = shard.find(address_of(pointer));
    if (entry == nullptr) return nullptr;
    old_length = entry->bytes;
    if (old_length == length) return pointer;
    if (os::resize_in_place(pointer, old_length, length)) {
      entry->bytes = length;
      count_change(0, static_cast<std::ptrdiff_t>(length) - static_cast<std::ptrdiff_t>(old_length));
      return pointer;
    }
    if (length < old_length) return nullptr;
    entry->bytes = 0;
  }
  void* const moved = move(pointer, old_length, length);
  end_move(pointer, moved != nullptr, old_length);
  return moved;
}

// The new place is reserved and entered before the pages move, so that every failure can be undone. The old entry is
// set aside meanwhile, not erased: putting it back then needs no room. Once the pages have moved, another thread may
// get the old address and enter it a second time.
void* LargeMappings::move(void* pointer, std::size_t old_length, std::size_t length) {
  void* const target = os::reserve(length, os::page_size());
  if (target == nullptr) return nullptr;
  Shard& new_shard = shard_of(address_of(target));
  bool entered = false;
  {
    const os::LockGuard guard(new_shard.lock);
    entered = new_shard.insert({.address = address_of(target), .bytes = length});
  }
  if (!entered || !os::move(pointer, old_length, target, length)) {
    if (entered) forget(target);
    os::release(target, length);
    return nullptr;
  }
  count_change(0, static_cast<std::ptrdiff_t>(length) - static_cast<std::ptrdiff_t>(old_length));
  return target;
}

void LargeMappings::end_move(const void* pointer, bool moved, std::size_t old_length) {
  Shard& shard = shard_of(address_of(pointer));
  const os::LockGuard guard(shard.lock);
  Entry* const entry = shard.find_set_aside(address_of(pointer));
  if (moved) {
    shard.erase(entry);
  } else {
    entry->bytes = old_length;
  }
}

void LargeMappings::forget(const void* pointer) {
  Shard& shard = shard_of(address_of(pointer));
  const os::LockGuard guard(shard.lock);
  shard.erase(shard.find(address_of(pointer)));
}

LargeFigures LargeMappings::figures() const {
  return {.count = relaxed_load(&figures_.count),
          .bytes = relaxed_load(&figures_.bytes),
          .max_count = relaxed_load(&figures_.max_count),
          .max_bytes = relaxed_load(&figures_.max_bytes)};
}

}  // namespace arenite
