// Takes home what other threads have cached, so that threads which sleep for long, or for ever, hoard nothing. No step
// of it costs the fast paths anything.
//
// Only a thread that is asleep in a system call, outside its slow paths, is drained: it is not in a fast path, unless
// it sleeps in a signal handler that has interrupted one. Its magazines are closed first, so that it takes a slow path
// when it wakes, where it waits for the end of the drain. A fast path that a signal handler has interrupted holds the
// top of a magazine, and perhaps the topmost slot, and goes on with them: so that slot stays, and what lies below is
// taken from the top down. Should such a path go on in the middle of the drain, it opens its magazine again; then what
// was taken out of it may have been handed out as well, and is not used again.
//
//   thread (slow path)             whoever drains
//   busy = true                    asleep?  no: ask it, leave
//   draining?  yes: wait           draining = true;  asleep?  busy?  awake or busy: leave
//   close holes                    close the magazines;  asleep?  no: open them, leave
//   ...                            take what lies below the topmost slots; open the magazines
//   busy = false                   take the remote buffer; has_holes = true; draining = false
//
// In a forked child, the other threads are gone. What they had cached is left until the child itself has been at work
// for a while, since most children only start another program; but where it stands is noted at once, since the child's
// next threads may get the old ones' stacks, and with them their caches. A thread that was in a slow path, or was being
// drained, may have cached what has gone home already: what it had is lost.
#pragma once

#include <cstddef>

#include "cache/thread_cache.h"

namespace arenite {

class CacheDrain {
 public:
  // What the store's thread has cached goes home, or, if it is awake, will at its next slow call. Returns a slot that
  // was given back twice, or null.
  static void* drain(MagazineStore& store);

  // The store of a vanished thread: where its magazines end is noted; later, what they hold goes home.
  static void note_vanished(MagazineStore& store);
  static void take_back(MagazineStore& store);

 private:
  explicit CacheDrain(MagazineStore& store) : store_(store), cache_(*store.use.cache) {}

  bool is_asleep() const;
  bool is_there() const;
  bool begin();
  void end();
  void close_magazines();
  bool reopen(ClassIndex cls);
  std::size_t take_magazine(ClassIndex cls, void** out);
  void* take_all();
  void* take_quarantine();

  MagazineStore& store_;
  ThreadCache& cache_;
  void** tops_[kClassCount + 1] = {};
};

// In a forked child, before it has other threads.
void note_vanished_caches();
// What vanished threads had cached goes home.
void take_back_vanished_caches();

// The caches of all threads but the calling one, those of vanished ones too.
void* drain_other_caches();
// Those whose threads have taken no slow path since the last such call.
void* drain_idle_caches();

}  // namespace arenite
