#include "os/processors.h"

#include <bit>
#include <cstdint>

#include "base/bits.h"
#include "base/text.h"
#include "os/control_group.h"
#include "os/kernel_text.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

std::size_t by_affinity() {
  std::uint64_t mask[128] = {};  // 8192 processors
  if (failed(system_call(SYS_sched_getaffinity, 0, sizeof mask, as_argument(mask)))) return kNoLimit;
  std::size_t count = 0;
  for (const std::uint64_t word : mask) count += static_cast<std::size_t>(std::popcount(word));
  return count == 0 ? kNoLimit : count;
}

std::size_t quota_of_group_2(std::string_view group) {
  char buffer[64];
  return processors_by_quota(read_group_file(kGroups2, group, "cpu.max", buffer, sizeof buffer));
}

std::size_t quota_of_group_1(std::string_view group) {
  char quota[32];
  char period[32];
  Text<80> both;
  both.add(read_group_file(kCpuGroups1, group, "cpu.cfs_quota_us", quota, sizeof quota)).add(' ');
  both.add(read_group_file(kCpuGroups1, group, "cpu.cfs_period_us", period, sizeof period));
  return processors_by_quota(both.view());
}

std::size_t by_control_groups() {
  const OwnControlGroups groups;
  const std::size_t second = least_on_the_way_up(groups.path(""), quota_of_group_2);
  const std::size_t first = least_on_the_way_up(groups.path("cpu"), quota_of_group_1);
  return second < first ? second : first;
}

}  // namespace

std::size_t processors_by_quota(std::string_view cpu_max) {
  const std::uint64_t quota = leading_number(cpu_max);
  std::size_t behind = 0;
  while (behind < cpu_max.size() && cpu_max[behind] >= '0' && cpu_max[behind] <= '9') ++behind;
  while (behind < cpu_max.size() && (cpu_max[behind] == ' ' || cpu_max[behind] == '\n')) ++behind;
  const std::uint64_t period = leading_number(rest_from(cpu_max, behind));
  if (quota == kNoNumber || period == kNoNumber || period == 0) return kNoLimit;
  const std::size_t processors = ceil_div(quota, period);
  return processors == 0 ? 1 : processors;
}

std::size_t processor_count() {
  const std::size_t affinity = by_affinity();
  const std::size_t quota = by_control_groups();
  const std::size_t least = affinity < quota ? affinity : quota;
  return least == kNoLimit ? 1 : least;
}

}  // namespace arenite::os
