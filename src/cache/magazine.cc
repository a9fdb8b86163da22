#include "cache/magazine.h"

#include "arena/damage_log.h"
#include "base/relaxed.h"
#include "os/fork.h"
#include "os/guarded_memory.h"

namespace arenite {

void* const kClosedMagazine[2] = {nullptr, reinterpret_cast<void*>(kFullMarker)};

constinit StorePool store_pool;

MagazineStore* StorePool::take() {
  {
    const os::LockGuard guard(lock_);
    MagazineStore* const store = free_.get();
    if (!free_.is_whole() || (store != nullptr && !store->has_whole_links())) {
      damage_log.note({.kind = Damage::kMagazine, .whole_arena = false, .arena = {}, .where = store});
      free_.set(nullptr);  // the others are lost
    } else if (store != nullptr) {
      free_.set(store->next.get());
      relaxed_store(&kept_, kept_ - 1);
      list(store);
      return store;
    }
  }
  auto* const store = static_cast<MagazineStore*>(os::map_guarded(sizeof(MagazineStore)));
  if (store == nullptr) return nullptr;
  const os::LockGuard guard(lock_);
  list(store);
  return store;
}

void StorePool::list(MagazineStore* store) {
  MagazineStore* const next = used_.get();
  store->front.set();
  store->back.set();
  store->use = {};
  store->visitors = 0;
  store->previous.set(nullptr);
  store->next.set(next);
  if (next != nullptr) next->previous.set(store);
  used_.set(store);
}

void StorePool::unlist(MagazineStore* store) {
  MagazineStore* const previous = store->previous.get();
  MagazineStore* const next = store->next.get();
  (previous == nullptr ? used_ : previous->next).set(next);
  if (next != nullptr) next->previous.set(previous);
}

void StorePool::give(MagazineStore* store) {
  constexpr std::uint32_t kVisitMicroseconds = 50;
  for (;; os::nap_for_others(kVisitMicroseconds)) {
    const os::LockGuard guard(lock_);
    if (store->visitors != 0) continue;
    unlist(store);
    break;
  }
  put_away(store);
}

void StorePool::put_away(MagazineStore* store) {
  // The count is only a guide here: without the lock it may be a little off.
  if (relaxed_load(&kept_) >= kMostKept && os::release_guarded(store, sizeof(MagazineStore))) return;
  const os::LockGuard guard(lock_);
  store->next.set(free_.get());
  free_.set(store);
  relaxed_store(&kept_, kept_ + 1);
}

MagazineStore* StorePool::visit_next(MagazineStore* visited) {
  const os::LockGuard guard(lock_);
  MagazineStore* next = visited == nullptr ? used_.get() : visited->next.get();
  if (next != nullptr && !next->has_whole_links()) next = nullptr;  // its own thread will find that
  if (visited != nullptr) --visited->visitors;
  if (next != nullptr) ++next->visitors;
  return next;
}

// A list can be followed at any moment of a change that the fork has cut short.
void StorePool::keep_only(MagazineStore* own) {
  const os::LockGuard guard(lock_);
  MagazineStore* store = used_.get();
  used_.set(nullptr);
  while (store != nullptr && store->has_whole_links()) {
    MagazineStore* const next = store->next.get();
    if (store != own) {
      store->next.set(vanished_.get());
      vanished_.set(store);
      relaxed_store(&any_vanished_, true);
    }
    store = next;
  }
  if (own == nullptr) return;
  const StoreUse use = own->use;
  list(own);
  own->use = use;
}

MagazineStore* StorePool::take_vanished() {
  const os::LockGuard guard(lock_);
  MagazineStore* const store = vanished_.get();
  const bool usable = store != nullptr && store->has_whole_links();
  vanished_.set(usable ? store->next.get() : nullptr);
  relaxed_store(&any_vanished_, usable);
  return usable ? store : nullptr;
}

}  // namespace arenite
