#include "os/overcommit.h"

#include "base/relaxed.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/memory.h"

namespace arenite::os {

namespace {

constexpr std::uint64_t kValidMicroseconds = 1'000'000;

// Relaxed: threads that read the setting at the same time find the same.
std::uint64_t read_at = 0;  // 0: never
bool cached_strict = false;
bool privileged_process = false;

PurgeWay way_if(bool strict) { return strict ? PurgeWay::kReplace : PurgeWay::kAdvise; }

}  // namespace

void note_privilege(bool privileged) { privileged_process = privileged; }

PurgeWay purge_way_for(std::string_view setting, bool privileged) {
  return way_if(privileged || setting.starts_with('2'));
}

PurgeWay purge_way() {
  const std::uint64_t now = monotonic_microseconds();
  const std::uint64_t last = relaxed_load(&read_at);
  if (last != 0 && now - last < kValidMicroseconds) return way_if(relaxed_load(&cached_strict));
  char buffer[16];
  const std::string_view setting = read_file("/proc/sys/vm/overcommit_memory", buffer, sizeof buffer);
  const PurgeWay way = purge_way_for(setting, privileged_process);
  relaxed_store(&cached_strict, way == PurgeWay::kReplace);
  relaxed_store(&read_at, now);
  return way;
}

bool purge_pages(void* address, std::size_t bytes, PurgeWay way) {
  return way == PurgeWay::kAdvise ? purge(address, bytes) : replace(address, bytes);
}

}  // namespace arenite::os
