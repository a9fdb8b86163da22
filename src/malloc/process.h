// The process's own events: its first use of the heap, fork, the end of a thread.
#pragma once

#include "cache/thread_cache.h"

namespace arenite {

// The calling thread's cache, with the process started and the thread attached: where every slow path begins.
ThreadCache& ready_cache();

}  // namespace arenite
