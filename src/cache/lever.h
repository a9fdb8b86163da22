// take() and give() once more, for threads with the slow lever set: in one piece each, for what needs neither the arena
// nor a look at the whole store. They refuse all else, as the fast paths do; take_slow() and give_slow() then do it.
#pragma once

#include "cache/thread_cache.h"

namespace arenite {

// The calling thread is busy for as long as this lives, if it may be: nobody drains its store, or has.
class ThreadCache::BriefUse {
 public:
  ARENITE_ALWAYS_INLINE explicit BriefUse(StoreUse& use) : use_(use), was_busy_(relaxed_load(&use.busy)) {
    relaxed_store(&use.busy, true);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);  // as in SlowPath
    // Acquire pairs with the release in CacheDrain.
    may_ = !was_busy_ && !__atomic_load_n(&use.draining, __ATOMIC_ACQUIRE) && !use.has_holes;
  }
  ARENITE_ALWAYS_INLINE ~BriefUse() { relaxed_store(&use_.busy, was_busy_); }
  BriefUse(const BriefUse&) = delete;
  BriefUse& operator=(const BriefUse&) = delete;

  bool may() const { return may_; }

 private:
  StoreUse& use_;
  bool was_busy_;
  bool may_;
};

inline std::uint64_t next_random(std::uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

ARENITE_ALWAYS_INLINE void* ThreadCache::take_levered(ClassIndex cls) {
  if (rules_.sample_interval != 0 && --store_->until_sample == 0) return nullptr;
  const BriefUse use(store_->use);
  return ARENITE_LIKELY(use.may() && !arena_->contained()) ? pop(cls) : nullptr;
}

ARENITE_ALWAYS_INLINE bool ThreadCache::give_levered(void* slot, ClassIndex cls) {
  const BriefUse use(store_->use);
  const std::uint32_t number = store_->use.slow_paths + 1;
  if (ARENITE_UNLIKELY(!use.may() || relaxed_load(&store_->use.asked) || is_time_to_look(number))) return false;
  if (rules_.quarantine) {
    Quarantine& quarantine = store_->quarantine;
    while (quarantine.is_full_for(cls)) {
      const Quarantine::Waiting oldest = quarantine.oldest();
      if (mark_of(oldest.slot, oldest.cls) != GranuleByte::cached(oldest.cls) || !keep_if_room(oldest.slot, oldest.cls))
        return false;
      quarantine.take();
    }
    quarantine.add({slot, cls});
  } else if (!keep_if_room(slot, cls)) {
    return false;
  }
  set_mark(slot, cls, GranuleByte::cached(cls));
  relaxed_store(&store_->use.slow_paths, number);
  return true;
}

// A cached slot goes to the magazine, or to the remote buffer.
bool ThreadCache::keep_if_room(void* slot, ClassIndex cls) {
  if (ARENITE_UNLIKELY(lookup_heap(slot).arena() != arena_->id())) {
    if (store_->remote.full()) return false;
    store_->remote.add(slot, size_class(cls).slot_size);
    return true;
  }
  void** const top = this->top(cls);
  if (ARENITE_UNLIKELY(is_full_marker(*top))) return false;
  if (rules_.random && top[-1] != nullptr) {  // the topmost is chosen already
    *top = top[-1];
    top[-1] = slot;
  } else {
    *top = slot;
  }
  set_top(cls, top + 1);
  return true;
}

// As the fast path takes a slot. Where it is left to chance which one is next, that is decided now, so that its memory
// is at hand by then.
void* ThreadCache::pop(ClassIndex cls) {
  void** const top = this->top(cls) - 1;
  void* const slot = relaxed_load(top);
  if (slot == nullptr) return nullptr;
  set_mark(slot, cls, GranuleByte::live(cls));
  set_top(cls, top);
  if (rules_.random && top[-1] != nullptr) {
    // The high bits times the number: a share of the range, without a division.
    const std::uint64_t chance = next_random(&store_->random) >> 32;
    void** const chosen = top - 1 - (chance * held(cls) >> 32);
    void* const next = *chosen;
    *chosen = top[-1];
    top[-1] = next;
    __builtin_prefetch(next, 1);
    __builtin_prefetch(static_cast<char*>(next) + size_class(cls).slot_size - 1, 1);
  }
  return slot;
}

}  // namespace arenite
