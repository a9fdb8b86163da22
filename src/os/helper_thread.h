// A thread of the library's own.
#pragma once

namespace arenite::os {

// Runs `body` in a thread that takes no signals. False if there can be none. Calls libc, which allocates: no lock may
// be held.
bool start_helper_thread(void (*body)());

}  // namespace arenite::os
