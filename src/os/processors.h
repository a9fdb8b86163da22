// How many processors the process may use.
#pragma once

#include <cstddef>

namespace arenite::os {

// By the affinity mask of the calling thread; at least 1.
std::size_t processor_count();

}  // namespace arenite::os
