// What is to be done around fork, in the right order with libc's own lock of the list of streams.
//
// A thread in getdelim holds its stream's lock when it allocates; fflush(NULL) holds the list's lock when it waits for
// that stream; and libc's fork takes the list's lock, after all handlers have run. Locks of an allocator that are held
// at that moment close the circle. So the list's lock, which nests, is taken before `prepare` runs: list, streams,
// allocator is the one order.
#pragma once

#include <cstdint>

namespace arenite::os {

struct ForkHandlers {
  void (*prepare)();
  void (*parent)();
  void (*child)();
  void (*raw_child)();
};

// Once, before any other library's handlers: they then run outside of these.
void install_fork_handlers(const ForkHandlers& handlers);

// A child made by the system call alone, or by _Fork, runs no handlers: what other threads held, they hold for ever. So
// a process that has threads keeps a word that the kernel clears in a child with a memory of its own, and whoever waits
// looks at it. Does nothing while there is only one thread, and on kernels before 4.14.
void watch_for_raw_forks();
// In such a child, the first time: runs `raw_child`, and is true.
bool repair_after_raw_fork();
// Sleeps in a wait for another thread, which in such a child is gone.
void nap_for_others(std::uint64_t microseconds);

}  // namespace arenite::os
