// How many processors the process may use.
#pragma once

#include <cstddef>
#include <string_view>

namespace arenite::os {

// By the affinity mask of the calling thread and the CPU quotas of its control groups (versions 2 and 1); at least 1.
std::size_t processor_count();

// The parts of it, for tests. `SIZE_MAX` means "no limit".
//
// What a cpu.max file says: "QUOTA PERIOD" or "max PERIOD"; quotas are rounded up to whole processors.
std::size_t processors_by_quota(std::string_view cpu_max);
// The path of the process's group in the text of /proc/self/cgroup: version 2's for an empty controller, else version
// 1's for that controller. Empty if there is none.
std::string_view control_group_path(std::string_view groups, std::string_view controller);

}  // namespace arenite::os
