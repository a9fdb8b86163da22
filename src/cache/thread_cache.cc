#include "cache/thread_cache.h"

#include "arena/registry.h"
#include "os/thread.h"

namespace arenite {

thread_local constinit ThreadCache current_cache ARENITE_INITIAL_EXEC;

namespace {

void mark_live(void* slot, ClassIndex cls) {
  const Heap& heap = Heap::of(slot);
  heap.map().set(heap.granule_of(slot), GranuleByte::live(cls));
}

void mark_cached(void* slot, ClassIndex cls) {
  const Heap& heap = Heap::of(slot);
  heap.map().set(heap.granule_of(slot), GranuleByte::cached(cls));
}

// A magazine that has filled so often without a refill belongs to a thread that gives and does not take.
constexpr std::uint8_t kFlushesBeforeShrink = 2;

void* first_refused(void* a, void* b) { return a != nullptr ? a : b; }

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

void ThreadCache::attach(bool cached) {
  state_ = State::kAttaching;
  arena_ = registry.attach();
  if (arena_ == nullptr) {
    state_ = State::kNew;  // tried again at the next call
    return;
  }
  store_ = cached ? store_pool.take() : nullptr;
  state_ = store_ != nullptr ? State::kCached : State::kUncached;
  if (store_ != nullptr) arena_tag_ = arena_tag(arena_->id());
  os::request_thread_exit();
}

// Magazines are opened when their class is first used, so that a thread touches only the memory of those.
void ThreadCache::open_magazine(ClassIndex cls) {
  if (is_open(cls)) return;
  top_[cls.value] = store_->first_entry(cls);
  store_->flushes[cls.value] = 0;
  store_->set_capacity(cls, size_class(cls).magazine_capacity);
}

void ThreadCache::close_magazines() {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) top_[cls] = closed_top();
  arena_tag_ = kNoArenaTag;
}

// What the magazines hold belongs to the contained arena: it is dropped with it.
void ThreadCache::leave_contained_arena() {
  registry.detach(*arena_);
  Arena* const next = registry.attach();
  if (next == nullptr) {
    close_magazines();
    if (store_ != nullptr) {
      flush_remote();  // a slot that is refused is dropped with the rest
      store_pool.give(store_);
    }
    store_ = nullptr;
    arena_ = nullptr;
    state_ = State::kEnded;
    return;
  }
  close_magazines();
  arena_ = next;
  if (store_ != nullptr) arena_tag_ = arena_tag(next->id());
}

void* ThreadCache::take_slow(ClassIndex cls) {
  if (arena_ != nullptr && arena_->contained()) leave_contained_arena();
  void* slot = take(cls.value, granule_bits(size_class(cls).kind));
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

// The lowest slot goes to the program, the others into the magazine so that the lowest is on top. A magazine that was
// made smaller grows again.
void* ThreadCache::refill(ClassIndex cls) {
  constexpr std::size_t kMaxBatch = 64;
  const SizeClass& info = size_class(cls);
  open_magazine(cls);
  store_->flushes[cls.value] = 0;
  const std::size_t capacity = store_->capacity[cls.value];
  if (capacity < info.magazine_capacity) {
    store_->set_capacity(cls, capacity * 2 < info.magazine_capacity ? capacity * 2 : info.magazine_capacity);
  }
  void* batch[kMaxBatch];
  const std::size_t taken = arena_->take_slots(cls, batch, info.batch < capacity ? info.batch : capacity);
  if (taken == 0) return nullptr;
  void** top = top_[cls.value];
  for (std::size_t index = taken - 1; index > 0; --index) *top++ = batch[index];
  top_[cls.value] = top;
  mark_live(batch[0], cls);
  return batch[0];
}

void* ThreadCache::take_from(Arena& arena, ClassIndex cls) {
  void* slot = nullptr;
  if (arena.take_slots(cls, &slot, 1) == 0) return nullptr;
  mark_live(slot, cls);
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
  mark_cached(slot, cls);
  if (store_ == nullptr) return registry.find(owner)->give_slots(&slot, 1);
  if (owner == arena_->id()) {
    open_magazine(cls);
    void* const refused = is_full_marker(*top_[cls.value]) ? make_room(cls) : nullptr;
    *top_[cls.value]++ = slot;
    return refused;
  }
  void* const refused = store_->remote.full() ? flush_remote() : nullptr;
  store_->remote.add(slot);
  return refused;
}

// A full magazine keeps the newer half of its slots. When it fills again and again without a refill in between, all
// slots go, and fewer are kept from now on, so that few spans are held by slots that nobody waits for.
void* ThreadCache::make_room(ClassIndex cls) {
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
  const auto held = static_cast<std::size_t>(top_[cls.value] - first);
  void* const refused = arena_->give_slots(first, count);
  for (std::size_t index = count; index < held; ++index) first[index - count] = first[index];
  top_[cls.value] -= count;
  return refused;
}

void* ThreadCache::flush_remote() {
  void* refused = nullptr;
  while (!store_->remote.empty()) {
    void* slots[RemoteBuffer::kCapacity];
    ArenaId owner;
    const std::size_t count = store_->remote.take_one_owner(slots, &owner);
    refused = first_refused(refused, registry.find(owner)->give_slots(slots, count));
  }
  return refused;
}

TakenRun ThreadCache::take_run(UnitCount count, UnitCount alignment, bool may_grow) {
  if (arena_ != nullptr && arena_->contained()) leave_contained_arena();
  if (arena_ != nullptr) return arena_->take_run(count, alignment, may_grow);
  const BorrowedArena borrowed;
  return borrowed.get() == nullptr ? TakenRun{} : borrowed.get()->take_run(count, alignment, may_grow);
}

void* ThreadCache::flush() {
  if (store_ == nullptr) return nullptr;
  void* refused = flush_remote();
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    if (!is_open({cls})) continue;
    const auto count = static_cast<std::size_t>(top_[cls] - store_->first_entry({cls}));
    if (count != 0) refused = first_refused(refused, flush_oldest({cls}, count));
  }
  return refused;
}

void* ThreadCache::end() {
  void* const refused = flush();
  close_magazines();
  if (store_ != nullptr) store_pool.give(store_);
  if (arena_ != nullptr && registry.detach(*arena_)) arena_->settle();
  store_ = nullptr;
  arena_ = nullptr;
  state_ = State::kEnded;
  return refused;
}

}  // namespace arenite
