#include "os/clock.h"

#include <time.h>

#include "os/syscall.h"

namespace arenite::os {

std::uint64_t monotonic_microseconds() {
  timespec now{};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, as_argument(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000;
}

void nap(std::uint64_t microseconds) {
  const timespec time{.tv_sec = static_cast<time_t>(microseconds / 1'000'000),
                      .tv_nsec = static_cast<long>(microseconds % 1'000'000) * 1'000};
  system_call(SYS_nanosleep, as_argument(&time), 0);
}

}  // namespace arenite::os
