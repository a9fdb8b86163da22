#include "cache/magazine.h"

#include "base/relaxed.h"
#include "os/memory.h"

namespace arenite {

void* const kClosedMagazine[2] = {nullptr, reinterpret_cast<void*>(kFullMarker)};

constinit StorePool store_pool;

namespace {

std::size_t store_bytes() { return align_up(sizeof(MagazineStore), os::page_size()); }

}  // namespace

MagazineStore* StorePool::take() {
  {
    const os::LockGuard guard(lock_);
    if (MagazineStore* const store = free_.get(); store != nullptr) {
      free_.set(store->next_free.get());
      relaxed_store(&kept_, kept_ - 1);
      return store;
    }
  }
  return static_cast<MagazineStore*>(os::map(store_bytes(), os::page_size()));
}

void StorePool::give(MagazineStore* store) {
  // The count is only a guide here: without the lock it may be a little off.
  if (relaxed_load(&kept_) >= kMostKept && os::release(store, store_bytes())) return;
  const os::LockGuard guard(lock_);
  store->next_free.set(free_.get());
  free_.set(store);
  relaxed_store(&kept_, kept_ + 1);
}

}  // namespace arenite
