// The control groups of the process, versions 2 and 1: what their files say of limits.
//
// A limit of a group holds for all groups below it. In a container the group's path may not exist below the mount,
// where the container's own group is the root: what cannot be read limits nothing, and the root is looked at in any
// case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite::os {

// Where the groups of version 2 are mounted, and those of version 1's controllers.
inline constexpr std::string_view kGroups2 = "/sys/fs/cgroup";
inline constexpr std::string_view kCpuGroups1 = "/sys/fs/cgroup/cpu";
inline constexpr std::string_view kMemoryGroups1 = "/sys/fs/cgroup/memory";

inline constexpr std::size_t kNoLimit = SIZE_MAX;

// The text of /proc/self/cgroup: 4 KiB.
class OwnControlGroups {
 public:
  OwnControlGroups();
  OwnControlGroups(const OwnControlGroups&) = delete;
  OwnControlGroups& operator=(const OwnControlGroups&) = delete;

  // The path of the process's group, as control_group_path().
  std::string_view path(std::string_view controller) const;

 private:
  char buffer_[4096];
  std::string_view text_;
};

// As much of the file `name` of a group as fits into `buffer`; empty if it cannot be read.
std::string_view read_group_file(std::string_view mount, std::string_view group, std::string_view name, char* buffer,
                                 std::size_t capacity);

// The path of the process's group in the text of /proc/self/cgroup: version 2's for an empty controller, else version
// 1's for that controller. Empty for the root, and if there is none.
std::string_view control_group_path(std::string_view groups, std::string_view controller);

// "/a" of "/a/b"; empty, the root, of "/a".
std::string_view parent_group(std::string_view group);

// The least of `limit_of(group)` for the group and all above it, the root included.
template <typename LimitOf>
std::size_t least_on_the_way_up(std::string_view group, LimitOf limit_of) {
  std::size_t least = limit_of(group);
  while (!group.empty()) {
    group = parent_group(group);
    const std::size_t limit = limit_of(group);
    if (limit < least) least = limit;
  }
  return least;
}

}  // namespace arenite::os
