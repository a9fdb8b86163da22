// How many processors the process may use.
#pragma once

#include <cstddef>
#include <string_view>

namespace arenite::os {

// By the affinity mask of the calling thread and the CPU quotas of its control groups (versions 2 and 1); at least 1.
std::size_t processor_count();

// A part of it, for tests: what a cpu.max file says, "QUOTA PERIOD" or "max PERIOD". Quotas are rounded up to whole
// processors. `SIZE_MAX` means "no limit".
std::size_t processors_by_quota(std::string_view cpu_max);

}  // namespace arenite::os
