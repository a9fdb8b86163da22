#include "cache/drain.h"

#include <cstring>

#include "arena/registry.h"
#include "os/safe_read.h"
#include "os/sleeping_thread.h"
#include "os/thread.h"

namespace arenite {

bool CacheDrain::is_asleep() const { return os::sleeps_in_system_call(relaxed_load(&store_.use.thread)); }

// A thread that has ended without telling leaves its store behind, and its number to another one. Its cache is then
// gone or another thread's.
bool CacheDrain::is_there() const {
  MagazineStore* store = nullptr;
  return os::safe_read(&cache_.store_, &store, sizeof store) && store == &store_;
}

// The thread is found asleep once more after `draining` is set: when it wakes, it sees that, and what it had written
// before is seen here. Sequentially consistent for before_fork(), whose thread is awake.
bool CacheDrain::begin() {
  if (__atomic_exchange_n(&store_.use.draining, true, __ATOMIC_SEQ_CST)) return false;
  if (is_asleep() && !__atomic_load_n(&store_.use.busy, __ATOMIC_SEQ_CST)) return true;
  end();
  return false;
}

void CacheDrain::end() { __atomic_store_n(&store_.use.draining, false, __ATOMIC_RELEASE); }

void CacheDrain::close_magazines() {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    tops_[cls] = __atomic_exchange_n(cache_.place_of_top({cls}), closed_top(), __ATOMIC_ACQ_REL);
  }
}

// False if the magazine is open already: a fast path went on. Release, so that the entries are seen with the top.
bool CacheDrain::reopen(ClassIndex cls) {
  void** expected = closed_top();
  return __atomic_compare_exchange_n(cache_.place_of_top(cls), &expected, tops_[cls.value], false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED);
}

std::size_t CacheDrain::take_magazine(ClassIndex cls, void** out) {
  std::size_t taken = 0;
  void** const first = store_.first_entry(cls);
  for (void** entry = tops_[cls.value] - 1; entry > first;) {
    --entry;
    void* const slot = relaxed_load(entry);
    relaxed_store(entry, static_cast<void*>(nullptr));
    if (slot != nullptr) out[taken++] = slot;
  }
  return taken;
}

void* CacheDrain::take_all() {
  void* refused = nullptr;
  void* slots[kLargestMagazine];
  store_.use.has_holes = true;
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const bool closed = cache_.top({cls}) == closed_top();
    if (!closed || tops_[cls] == closed_top()) continue;
    const std::size_t taken = take_magazine({cls}, slots);
    if (!reopen({cls}) || taken == 0) continue;
    refused = first_refused(refused, cache_.arena_->give_slots(slots, taken));
  }
  refused = first_refused(refused, take_quarantine());
  return first_refused(refused, ThreadCache::flush_remote(store_));
}

// Each slot to its owner at once: the magazines are not to be filled again.
void* CacheDrain::take_quarantine() {
  void* refused = nullptr;
  while (!store_.quarantine.empty()) {
    void* slot = store_.quarantine.take().slot;
    refused = first_refused(refused, registry.find(lookup_heap(slot).arena())->give_slots(&slot, 1));
  }
  return refused;
}

void CacheDrain::note_vanished(MagazineStore& store) {
  StoreUse& use = store.use;
  if (use.cache == nullptr || use.busy || use.draining || !CacheDrain(store).is_there()) {
    use.cache = nullptr;  // nothing can be said
  } else if (!use.cache->has_lever()) {
    std::memcpy(store.tops, use.cache->top_, sizeof store.tops);
  }
}

// A slot that is refused was about to be taken or had been given: the thread has not come further.
void CacheDrain::take_back(MagazineStore& store) {
  if (store.use.cache == nullptr) return;
  CacheDrain drain(store);
  void* slots[kLargestMagazine];
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    if (store.tops[cls] == closed_top()) continue;
    std::size_t taken = 0;
    for (void** entry = store.first_entry({cls}); entry < store.tops[cls]; ++entry) {
      if (*entry != nullptr) slots[taken++] = *entry;
    }
    if (taken != 0) registry.find(lookup_heap(slots[0]).arena())->give_slots(slots, taken);
  }
  drain.take_quarantine();
  ThreadCache::flush_remote(store);
}

void* CacheDrain::drain(MagazineStore& store) {
  // Acquire pairs with the release in ThreadCache::attach().
  if (__atomic_load_n(&store.use.cache, __ATOMIC_ACQUIRE) == nullptr) return nullptr;
  relaxed_store(&store.use.asked, true);
  CacheDrain drain(store);
  if (!drain.is_asleep() || !drain.is_there() || !drain.begin()) return nullptr;
  void* refused = nullptr;
  drain.close_magazines();
  if (drain.is_asleep() && !relaxed_load(&store.use.busy)) {
    refused = drain.take_all();
    relaxed_store(&store.use.asked, false);
  } else {
    for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) drain.reopen({cls});
  }
  drain.end();
  return refused;
}

namespace {

template <typename Wanted>
void* drain_caches(Wanted wanted) {
  void* refused = nullptr;
  const std::uint32_t me = os::thread_number();
  store_pool.for_each_used([&](MagazineStore& store) {
    if (relaxed_load(&store.use.thread) == me || !wanted(store.use)) return;
    refused = first_refused(refused, CacheDrain::drain(store));
  });
  return refused;
}

}  // namespace

void note_vanished_caches() { store_pool.for_each_vanished(CacheDrain::note_vanished); }

void take_back_vanished_caches() {
  if (ARENITE_LIKELY(!store_pool.has_vanished())) return;
  while (MagazineStore* const store = store_pool.take_vanished()) {
    CacheDrain::take_back(*store);
    store_pool.put_away(store);
  }
}

void* drain_other_caches() {
  take_back_vanished_caches();
  return drain_caches([](const StoreUse&) { return true; });
}

void* drain_idle_caches() {
  take_back_vanished_caches();
  return drain_caches([](StoreUse& use) {
    const std::uint32_t now = relaxed_load(&use.slow_paths);
    const bool idle = now == use.slow_paths_before;
    use.slow_paths_before = now;
    return idle;
  });
}

}  // namespace arenite
