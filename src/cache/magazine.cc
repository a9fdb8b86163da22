#include "cache/magazine.h"

#include "os/memory.h"

namespace arenite {

void* const kClosedMagazine[2] = {nullptr, reinterpret_cast<void*>(kFullMarker)};

constinit StorePool store_pool;

MagazineStore* StorePool::take() {
  {
    const os::LockGuard guard(lock_);
    if (MagazineStore* const store = free_.get(); store != nullptr) {
      free_.set(store->next_free.get());
      return store;
    }
  }
  const std::size_t bytes = align_up(sizeof(MagazineStore), os::page_size());
  return static_cast<MagazineStore*>(os::map(bytes, os::page_size()));
}

void StorePool::give(MagazineStore* store) {
  const os::LockGuard guard(lock_);
  store->next_free.set(free_.get());
  free_.set(store);
}

}  // namespace arenite
