// The fake of os/clock.h that unit and state tests link: the real clock, which a test can set forward.
#pragma once

#include <cstdint>

namespace arenite::real_os {

// The real function, for the fake and its test.
std::uint64_t monotonic_microseconds();

}  // namespace arenite::real_os

namespace arenite::fake {

void advance_clock(std::uint64_t microseconds);

}  // namespace arenite::fake
