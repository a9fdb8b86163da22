// The process's own events: its first use of the heap, fork, the end of a thread.
#pragma once

#include "cache/thread_cache.h"

namespace arenite {

// The environment has been read and the fork handlers stand: before anything that reads or sets an option.
void ensure_started();

// The calling thread's cache, with the process started and the thread attached.
ThreadCache& ready_cache();

}  // namespace arenite
