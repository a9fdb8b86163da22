#include "os/clock.h"

#include <time.h>

#include "os/syscall.h"

namespace arenite::os {

std::uint64_t monotonic_microseconds() {
  timespec now{};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, as_argument(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000;
}

}  // namespace arenite::os
