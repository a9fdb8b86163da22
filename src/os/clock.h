// Time, by raw system call.
#pragma once

#include <cstdint>

namespace arenite::os {

// Microseconds since some fixed point; never goes back.
std::uint64_t monotonic_microseconds();

// Lets other threads run: sleeps for about that long, or until a signal comes.
void nap(std::uint64_t microseconds);

}  // namespace arenite::os
