// Time, by raw system call.
#pragma once

#include <cstdint>

namespace arenite::os {

// Microseconds since some fixed point; never goes back.
std::uint64_t monotonic_microseconds();

}  // namespace arenite::os
