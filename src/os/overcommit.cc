#include "os/overcommit.h"

#include "base/relaxed.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process_start.h"

namespace arenite::os {

namespace {

constexpr std::uint64_t kValidMicroseconds = 1'000'000;

// Relaxed: threads that read the setting at the same time find the same.
std::uint64_t read_at = 0;  // 0: never
ReleaseWay cached_way = ReleaseWay::kAdvise;

}  // namespace

ReleaseWay release_way_for(std::string_view setting, bool privileged) {
  return privileged || setting.starts_with('2') ? ReleaseWay::kReplace : ReleaseWay::kAdvise;
}

ReleaseWay release_way() {
  const std::uint64_t now = monotonic_microseconds();
  const std::uint64_t last = relaxed_load(&read_at);
  if (last != 0 && now - last < kValidMicroseconds) return relaxed_load(&cached_way);
  char buffer[16];
  const std::string_view setting = read_file("/proc/sys/vm/overcommit_memory", buffer, sizeof buffer);
  relaxed_store(&cached_way, release_way_for(setting, process_start().privileged));
  relaxed_store(&read_at, now);
  return relaxed_load(&cached_way);
}

}  // namespace arenite::os
