#include "os/processors.h"

#include <bit>
#include <cstdint>

#include "base/bits.h"
#include "base/text.h"
#include "os/file.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

constexpr std::size_t kNoLimit = SIZE_MAX;

using Path = Text<512>;

std::size_t by_affinity() {
  std::uint64_t mask[128] = {};  // 8192 processors
  if (failed(system_call(SYS_sched_getaffinity, 0, sizeof mask, as_argument(mask)))) return kNoLimit;
  std::size_t count = 0;
  for (const std::uint64_t word : mask) count += static_cast<std::size_t>(std::popcount(word));
  return count == 0 ? kNoLimit : count;
}

// The digits at the start of `text`; kNoLimit if there are none ("max", "-1").
std::size_t leading_number(std::string_view text) {
  std::size_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    value = saturating_add(saturating_mul(value, 10), static_cast<std::size_t>(text[digits] - '0'));
  }
  return digits == 0 ? kNoLimit : value;
}

std::string_view read_group_file(std::string_view root, std::string_view group, std::string_view name, char* buffer,
                                 std::size_t capacity) {
  Path path;
  path.add(root).add(group).add('/').add(name).add('\0');
  return path.full() ? std::string_view{} : read_file(path.view().data(), buffer, capacity);
}

std::size_t quota_of_group_2(std::string_view group) {
  char buffer[64];
  return processors_by_quota(read_group_file("/sys/fs/cgroup", group, "cpu.max", buffer, sizeof buffer));
}

std::size_t quota_of_group_1(std::string_view group) {
  char quota[32];
  char period[32];
  Text<80> both;
  both.add(read_group_file("/sys/fs/cgroup/cpu", group, "cpu.cfs_quota_us", quota, sizeof quota)).add(' ');
  both.add(read_group_file("/sys/fs/cgroup/cpu", group, "cpu.cfs_period_us", period, sizeof period));
  return processors_by_quota(both.view());
}

// The least of the group's and all its parents' quotas: each of them holds.
template <typename Quota>
std::size_t least_on_the_way_up(std::string_view group, Quota quota) {
  std::size_t least = kNoLimit;
  for (;;) {
    const std::size_t limit = quota(group);
    if (limit < least) least = limit;
    if (group.empty()) return least;
    std::size_t parent = group.size() - 1;
    while (parent > 0 && group[parent] != '/') --parent;
    group = first_part(group, parent);
  }
}

std::size_t by_control_groups() {
  char groups[4096];
  const std::string_view text = read_file("/proc/self/cgroup", groups, sizeof groups);
  const std::size_t second = least_on_the_way_up(control_group_path(text, ""), quota_of_group_2);
  const std::size_t first = least_on_the_way_up(control_group_path(text, "cpu"), quota_of_group_1);
  return second < first ? second : first;
}

// Whether `name` is one of the names in `list`, which commas separate.
bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (first_part(list, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list = rest_from(list, comma + 1);
  }
  return name.empty();
}

}  // namespace

std::size_t processors_by_quota(std::string_view cpu_max) {
  const std::size_t quota = leading_number(cpu_max);
  std::size_t behind = 0;
  while (behind < cpu_max.size() && cpu_max[behind] >= '0' && cpu_max[behind] <= '9') ++behind;
  while (behind < cpu_max.size() && (cpu_max[behind] == ' ' || cpu_max[behind] == '\n')) ++behind;
  const std::size_t period = leading_number(rest_from(cpu_max, behind));
  if (quota == kNoLimit || period == kNoLimit || period == 0) return kNoLimit;
  const std::size_t processors = ceil_div(quota, period);
  return processors == 0 ? 1 : processors;
}

std::string_view control_group_path(std::string_view groups, std::string_view controller) {
  while (!groups.empty()) {
    const std::size_t end = groups.find('\n');
    const std::string_view line = first_part(groups, end);
    groups = end == std::string_view::npos ? std::string_view{} : rest_from(groups, end + 1);
    const std::size_t first_colon = line.find(':');
    if (first_colon == std::string_view::npos) continue;
    const std::string_view fields = rest_from(line, first_colon + 1);
    const std::size_t second_colon = fields.find(':');
    if (second_colon == std::string_view::npos) continue;
    const std::string_view controllers = first_part(fields, second_colon);
    if (controllers.empty() != controller.empty() || !lists(controllers, controller)) continue;
    const std::string_view path = rest_from(fields, second_colon + 1);
    return path == "/" ? std::string_view{} : path;
  }
  return {};
}

std::size_t processor_count() {
  const std::size_t affinity = by_affinity();
  const std::size_t quota = by_control_groups();
  const std::size_t least = affinity < quota ? affinity : quota;
  return least == kNoLimit ? 1 : least;
}

}  // namespace arenite::os
