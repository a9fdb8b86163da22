#include "cache/thread_cache.h"

#include "arena/registry.h"
#include "cache/drain.h"
#include "cache/lever.h"
#include "os/clock.h"
#include "os/fork.h"
#include "os/thread.h"

namespace arenite {

thread_local constinit ThreadCache current_cache ARENITE_INITIAL_EXEC;

namespace {

// A magazine that has filled so often without a refill belongs to a thread that gives and does not take.
constexpr std::uint8_t kFlushesBeforeShrink = 2;

// A drain takes about that long.
constexpr std::uint32_t kDrainMicroseconds = 20;

// An arena for the time of one call, for threads that have none.
class BorrowedArena {
 public:
  BorrowedArena() : arena_(registry.attach()) {}
  ~BorrowedArena() {
    if (arena_ != nullptr) registry.detach(*arena_);
  }
  BorrowedArena(const BorrowedArena&) = delete;
  BorrowedArena& operator=(const BorrowedArena&) = delete;

  Arena* get() const { return arena_; }

 private:
  Arena* arena_;
};

}  // namespace

// The calling thread changes what its magazines and its remote buffer hold. It first waits for whoever drains them.
class ThreadCache::SlowPath {
 public:
  explicit SlowPath(ThreadCache& cache) : cache_(cache) {
    if (cache.store_ == nullptr) return;
    if (ARENITE_UNLIKELY(!cache.store_->is_whole())) {
      cache.leave_damaged_store();
      return;
    }
    StoreUse& use = cache.store_->use;
    was_busy_ = relaxed_load(&use.busy);
    for (;;) {
      relaxed_store(&use.busy, true);
      // Whoever drains sees this thread asleep between its writing `draining` and its reading `busy`, so only the
      // compiler must keep the order.
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
      // Acquire pairs with the release in CacheDrain: what was taken is seen.
      if (!__atomic_load_n(&use.draining, __ATOMIC_ACQUIRE)) break;
      relaxed_store(&use.busy, was_busy_);
      os::nap_for_others(kDrainMicroseconds);
    }
    if (use.has_holes) cache.close_holes();
  }
  ~SlowPath() {
    if (cache_.store_ != nullptr) relaxed_store(&cache_.store_->use.busy, was_busy_);
  }
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;

 private:
  ThreadCache& cache_;
  bool was_busy_ = false;  // a signal handler has interrupted a slow path
};

void ThreadCache::attach(bool cached, CacheRules rules) {
  state_ = State::kAttaching;
  arena_ = registry.attach();
  if (arena_ == nullptr) {
    state_ = State::kNew;  // tried again at the next call
    return;
  }
  store_ = cached ? store_pool.take() : nullptr;
  state_ = store_ != nullptr ? State::kCached : State::kUncached;
  if (store_ != nullptr) {
    if (rules.lever) {
      for (void**& top : store_->tops) top = closed_top();
      store_->random = (address_of(this) ^ sealed.link_secret ^ os::thread_number()) | 1;
      store_->quarantine = {};
    } else {
      arena_tag_ = arena_tag(arena_->id());
    }
    rules_ = rules;
    if (rules.sample_interval != 0) choose_next_sample();
    relaxed_store(&store_->use.thread, os::thread_number());
    __atomic_store_n(&store_->use.cache, this, __ATOMIC_RELEASE);  // pairs with the acquire in CacheDrain
  }
  os::request_thread_exit();
}

// Magazines are opened when their class is first used, so that a thread touches only the memory of those.
void ThreadCache::open_magazine(ClassIndex cls) {
  if (is_open(cls)) return;
  set_top(cls, store_->first_entry(cls));
  store_->flushes[cls.value] = 0;
  store_->set_capacity(cls, size_class(cls).magazine_capacity);
}

// Somebody has taken entries out from below the topmost.
void ThreadCache::close_holes() {
  store_->use.has_holes = false;
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    if (!is_open({cls})) continue;
    void** const first = store_->first_entry({cls});
    void** behind = first;
    for (void** entry = first; entry != top({cls}); ++entry) {
      if (*entry != nullptr) *behind++ = *entry;
    }
    set_top({cls}, behind);
  }
}

void ThreadCache::close_magazines() {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) set_top({cls}, closed_top());
  arena_tag_ = kNoArenaTag;
}

// What is in it cannot be trusted, nor what the arena has from it.
void ThreadCache::leave_damaged_store() {
  arena_->contain(Damage::kMagazine, store_);
  rules_ = {};
  close_magazines();
  store_ = nullptr;
  state_ = State::kUncached;
}

// What the magazines hold belongs to the contained arena: it is dropped with it.
void ThreadCache::leave_contained_arena() {
  registry.detach(*arena_);
  Arena* const next = registry.attach();
  if (next == nullptr) {
    close_magazines();
    if (store_ != nullptr) {
      flush_remote(*store_);  // a slot that is refused is dropped with the rest
      store_pool.give(store_);
    }
    rules_ = {};
    store_ = nullptr;
    arena_ = nullptr;
    state_ = State::kEnded;
    return;
  }
  close_magazines();
  arena_ = next;
  if (store_ != nullptr && !rules_.lever) arena_tag_ = arena_tag(next->id());
}

void* ThreadCache::take_slow(ClassIndex cls) {
  const SlowPath slow_path(*this);
  if (arena_ != nullptr && arena_->contained()) leave_contained_arena();
  void* slot = pop(cls);
  if (slot != nullptr) return slot;
  if (store_ != nullptr) {
    slot = refill(cls);
  } else if (arena_ != nullptr) {
    slot = take_from(*arena_, cls);
  } else {
    const BorrowedArena borrowed;
    if (borrowed.get() != nullptr) slot = take_from(*borrowed.get(), cls);
  }
  return slot != nullptr ? slot : take_from_others(cls);
}

// After half to one and a half of the interval, so that no pattern of the program's meets the same blocks each time.
void ThreadCache::choose_next_sample() {
  const std::uint64_t spread = (next_random(&store_->random) >> 32) * rules_.sample_interval >> 32;
  store_->until_sample = static_cast<std::uint32_t>(rules_.sample_interval / 2 + spread + 1);
}

bool ThreadCache::is_sample_due() {
  if (rules_.sample_interval == 0 || store_->until_sample != 0) return false;
  choose_next_sample();
  return true;
}

// The lowest slot goes to the program, the others into the magazine so that the lowest is on top. A magazine that was
// made smaller grows again.
void* ThreadCache::refill(ClassIndex cls) {
  constexpr std::size_t kMaxBatch = 64;
  const SizeClass& info = size_class(cls);
  open_magazine(cls);
  store_->flushes[cls.value] = 0;
  store_->used[cls.value] = true;
  const std::size_t capacity = store_->capacity[cls.value];
  if (capacity < info.magazine_capacity) {
    store_->set_capacity(cls, capacity * 2 < info.magazine_capacity ? capacity * 2 : info.magazine_capacity);
  }
  void* batch[kMaxBatch];
  const std::size_t taken = arena_->take_slots(cls, batch, info.batch < capacity ? info.batch : capacity);
  if (taken == 0) return nullptr;
  void** top = this->top(cls);
  for (std::size_t index = taken - 1; index > 0; --index) *top++ = batch[index];
  set_top(cls, top);
  set_mark(batch[0], cls, GranuleByte::live(cls));
  return batch[0];
}

void* ThreadCache::take_from(Arena& arena, ClassIndex cls) {
  void* slot = nullptr;
  if (arena.take_slots(cls, &slot, 1) == 0) return nullptr;
  set_mark(slot, cls, GranuleByte::live(cls));
  return slot;
}

void* ThreadCache::take_from_others(ClassIndex cls) {
  void* slot = nullptr;
  registry.for_each([&](Arena& arena) {
    if (slot == nullptr && &arena != arena_) slot = take_from(arena, cls);
  });
  return slot;
}

void* ThreadCache::give_slow(void* slot, ClassIndex cls, ArenaId owner) {
  const SlowPath slow_path(*this);
  if (arena_ != nullptr && arena_->contained()) leave_contained_arena();
  set_mark(slot, cls, GranuleByte::cached(cls));
  if (store_ == nullptr) return registry.find(owner)->give_slots(&slot, 1);
  void* refused = nullptr;
  if (rules_.quarantine) {
    while (store_->quarantine.is_full_for(cls)) refused = first_refused(refused, keep_oldest_of_quarantine());
    store_->quarantine.add({slot, cls});
  } else {
    refused = keep(slot, cls, owner);
  }
  return first_refused(refused, flush_idle());
}

// As keep_if_room(), and makes room where there is none.
void* ThreadCache::keep(void* slot, ClassIndex cls, ArenaId owner) {
  void* refused = nullptr;
  if (owner != arena_->id()) {
    if (store_->remote.full()) refused = flush_remote(*store_);
  } else {
    open_magazine(cls);
    if (is_full_marker(*top(cls))) refused = make_room(cls);
  }
  keep_if_room(slot, cls);
  return refused;
}

void* ThreadCache::keep_oldest_of_quarantine() {
  const Quarantine::Waiting oldest = store_->quarantine.take();
  if (mark_of(oldest.slot, oldest.cls) != GranuleByte::cached(oldest.cls)) return oldest.slot;
  return keep(oldest.slot, oldest.cls, lookup_heap(oldest.slot).arena());
}

// A full magazine keeps the newer half of its slots. When it fills again and again without a refill in between, all
// slots go, and fewer are kept from now on, so that few spans are held by slots that nobody waits for.
void* ThreadCache::make_room(ClassIndex cls) {
  store_->used[cls.value] = true;
  const std::size_t capacity = store_->capacity[cls.value];
  if (store_->flushes[cls.value] < kFlushesBeforeShrink) {
    ++store_->flushes[cls.value];
    return flush_oldest(cls, capacity / 2);
  }
  void* const refused = flush_oldest(cls, capacity);
  const std::size_t least = size_class(cls).least_capacity;
  store_->set_capacity(cls, capacity / 2 > least ? capacity / 2 : least);
  return refused;
}

void* ThreadCache::flush_oldest(ClassIndex cls, std::size_t count) {
  void** const first = store_->first_entry(cls);
  void* const refused = arena_->give_slots(first, count);
  for (std::size_t index = count; index < held(cls); ++index) first[index - count] = first[index];
  set_top(cls, top(cls) - count);
  return refused;
}

void* ThreadCache::flush_remote(MagazineStore& store) {
  void* refused = nullptr;
  while (!store.remote.empty()) {
    void* slots[RemoteBuffer::kCapacity];
    ArenaId owner;
    const std::size_t count = store.remote.take_one_owner(slots, &owner);
    refused = first_refused(refused, registry.find(owner)->give_slots(slots, count));
  }
  store.used[0] = true;
  return refused;
}

void* ThreadCache::flush_all() {
  void* refused = nullptr;
  if (rules_.quarantine) {
    while (!store_->quarantine.empty()) refused = first_refused(refused, keep_oldest_of_quarantine());
  }
  refused = first_refused(refused, flush_remote(*store_));
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    if (is_open({cls}) && held({cls}) != 0) refused = first_refused(refused, flush_oldest({cls}, held({cls})));
  }
  return refused;
}

// Once in a while: what has neither been refilled nor flushed for a second goes home; everything, if somebody has
// asked.
void* ThreadCache::flush_idle() {
  constexpr std::uint64_t kIdleMicroseconds = 1'000'000;
  StoreUse& use = store_->use;
  if (ARENITE_UNLIKELY(relaxed_load(&use.asked))) {
    relaxed_store(&use.asked, false);
    return flush_all();
  }
  relaxed_store(&use.slow_paths, use.slow_paths + 1);
  if (!is_time_to_look(use.slow_paths)) return nullptr;
  const std::uint64_t now = os::monotonic_microseconds();
  const std::uint64_t last = use.looked_at;
  if (last != 0 && now - last < kIdleMicroseconds) return nullptr;
  use.looked_at = now;
  if (last == 0) return nullptr;
  take_back_vanished_caches();
  void* refused = store_->used[0] ? nullptr : flush_remote(*store_);
  store_->used[0] = false;
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    const bool idle = is_open({cls}) && held({cls}) != 0 && !store_->used[cls];
    if (idle) refused = first_refused(refused, flush_oldest({cls}, held({cls})));
    store_->used[cls] = false;
  }
  return refused;
}

TakenRun ThreadCache::take_run(UnitCount count, UnitCount alignment, bool may_grow) {
  if (ARENITE_UNLIKELY(arena_ != nullptr && arena_->contained())) {
    const SlowPath slow_path(*this);
    leave_contained_arena();
  }
  if (arena_ != nullptr) return arena_->take_run(count, alignment, may_grow);
  const BorrowedArena borrowed;
  return borrowed.get() == nullptr ? TakenRun{} : borrowed.get()->take_run(count, alignment, may_grow);
}

void* ThreadCache::flush() {
  const SlowPath slow_path(*this);
  return store_ == nullptr ? nullptr : flush_all();
}

void* ThreadCache::end() {
  void* refused = nullptr;
  {
    const SlowPath slow_path(*this);
    if (store_ != nullptr) refused = flush_all();
    close_magazines();
  }
  if (store_ != nullptr) store_pool.give(store_);
  if (arena_ != nullptr && registry.detach(*arena_)) arena_->settle();
  rules_ = {};
  store_ = nullptr;
  arena_ = nullptr;
  state_ = State::kEnded;
  return refused;
}

// Sequentially consistent, so that whoever drains sees `busy` before it closes a magazine, or is waited for: the child
// could not open it again.
void ThreadCache::before_fork() {
  if (store_ == nullptr) return;
  StoreUse& use = store_->use;
  if (use.forks_under_way++ != 0) return;
  use.busy_before_fork = relaxed_load(&use.busy);
  for (;; os::nap_for_others(kDrainMicroseconds)) {
    __atomic_store_n(&use.busy, true, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&use.draining, __ATOMIC_SEQ_CST)) return;
    relaxed_store(&use.busy, use.busy_before_fork);
  }
}

void ThreadCache::note_raw_fork() {
  if (store_ != nullptr && store_->use.forks_under_way++ == 0) store_->use.busy_before_fork = store_->use.busy;
}

void ThreadCache::after_fork_in_parent() {
  // A thread that has got its store since, in another fork handler, has nothing to restore.
  if (store_ == nullptr || store_->use.forks_under_way == 0 || --store_->use.forks_under_way != 0) return;
  relaxed_store(&store_->use.busy, store_->use.busy_before_fork);
}

void ThreadCache::after_fork_in_child() {
  if (!store_pool.lock().held_by_me()) store_pool.keep_only(store_);
  if (store_ == nullptr) return;
  store_->use.thread = os::thread_number();
  store_->use.draining = false;  // somebody who has not come further than that
  after_fork_in_parent();
}

}  // namespace arenite
