// The thread that `purge_interval` asks for: it gives back by age what the program's own calls leave.
#pragma once

namespace arenite {

// Starts it if it is wanted and there is none, as in a forked child. No lock may be held.
void start_background_if_wanted();
// In a forked child the thread is gone: the next slow call starts another.
void note_background_is_gone();

}  // namespace arenite
