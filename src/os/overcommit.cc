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
bool cached_strict = false;

ReleaseWay way_if(bool strict) { return strict ? ReleaseWay::kReplace : ReleaseWay::kAdvise; }

}  // namespace

ReleaseWay release_way_for(std::string_view setting, bool privileged) {
  return way_if(privileged || setting.starts_with('2'));
}

ReleaseWay release_way() {
  const std::uint64_t now = monotonic_microseconds();
  const std::uint64_t last = relaxed_load(&read_at);
  if (last != 0 && now - last < kValidMicroseconds) return way_if(relaxed_load(&cached_strict));
  char buffer[16];
  const std::string_view setting = read_file("/proc/sys/vm/overcommit_memory", buffer, sizeof buffer);
  const ReleaseWay way = release_way_for(setting, process_start().privileged);
  relaxed_store(&cached_strict, way == ReleaseWay::kReplace);
  relaxed_store(&read_at, now);
  return way;
}

}  // namespace arenite::os
