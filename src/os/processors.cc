#include "os/processors.h"

#include <bit>
#include <cstdint>

#include "os/syscall.h"

namespace arenite::os {

std::size_t processor_count() {
  std::uint64_t mask[128] = {};  // 8192 processors
  const long bytes = system_call(SYS_sched_getaffinity, 0, sizeof mask, as_argument(mask));
  if (failed(bytes)) return 1;
  std::size_t count = 0;
  for (const std::uint64_t word : mask) count += static_cast<std::size_t>(std::popcount(word));
  return count == 0 ? 1 : count;
}

}  // namespace arenite::os
