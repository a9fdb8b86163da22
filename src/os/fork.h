// What is to be done around fork, in the right order with libc's own lock of the list of streams.
//
// A thread in getdelim holds its stream's lock when it allocates; fflush(NULL) holds the list's lock when it waits for
// that stream; and libc's fork takes the list's lock, after all handlers have run. Locks of an allocator that are held
// at that moment close the circle. So the list's lock, which nests, is taken before `prepare` runs: list, streams,
// allocator is the one order.
#pragma once

namespace arenite::os {

struct ForkHandlers {
  void (*prepare)();
  void (*parent)();
  void (*child)();
};

// Once, before any other library's handlers: they then run outside of these.
void install_fork_handlers(const ForkHandlers& handlers);

}  // namespace arenite::os
