// Reading memory that may not be there.
#pragma once

#include <cstddef>

namespace arenite::os {

// False, and `to` not to be used, if not all of it can be read, or the kernel does not allow the call.
bool safe_read(const void* from, void* to, std::size_t bytes);

}  // namespace arenite::os
