#include "os/memory_limit.h"

#include <cstdint>

#include "os/control_group.h"
#include "os/kernel_text.h"

namespace arenite::os {

namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;

std::size_t limit_of_group_2(std::string_view group) {
  char buffer[32];
  return memory_limit_in(read_group_file(kGroups2, group, "memory.max", buffer, sizeof buffer));
}

std::size_t limit_of_group_1(std::string_view group) {
  char buffer[32];
  return memory_limit_in(read_group_file(kMemoryGroups1, group, "memory.limit_in_bytes", buffer, sizeof buffer));
}

}  // namespace

std::size_t memory_limit_in(std::string_view text) {
  const std::uint64_t bytes = leading_number(text);
  return bytes >= kUnlimited ? kNoLimit : bytes;
}

std::size_t memory_limit() {
  const OwnControlGroups groups;
  const std::size_t second = least_on_the_way_up(groups.path(""), limit_of_group_2);
  const std::size_t first = least_on_the_way_up(groups.path("memory"), limit_of_group_1);
  return second < first ? second : first;
}

}  // namespace arenite::os
