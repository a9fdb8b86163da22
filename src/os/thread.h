// The calling thread: its number and its end.
#pragma once

#include <cstdint>

namespace arenite::os {

// The kernel's thread number, cached per thread: 1 to 2^30 - 1.
std::uint32_t thread_number();
// To be called in a forked child: the number has changed.
void forget_thread_number();

// `at_exit` is called in each thread that has asked for it, among the destructors of the thread's data.
void install_thread_exit(void (*at_exit)());
// Ask for the call in the calling thread. Needs no lock and, where the key came early enough, no memory.
void request_thread_exit();

}  // namespace arenite::os
