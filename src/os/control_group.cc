#include "os/control_group.h"

#include "base/text.h"
#include "os/file.h"

namespace arenite::os {

namespace {

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

OwnControlGroups::OwnControlGroups() : text_(read_file("/proc/self/cgroup", buffer_, sizeof buffer_)) {}

std::string_view OwnControlGroups::path(std::string_view controller) const {
  return control_group_path(text_, controller);
}

std::string_view read_group_file(std::string_view mount, std::string_view group, std::string_view name, char* buffer,
                                 std::size_t capacity) {
  Text<512> path;
  path.add(mount).add(group).add('/').add(name).add('\0');
  return path.full() ? std::string_view{} : read_file(path.view().data(), buffer, capacity);
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

std::string_view parent_group(std::string_view group) {
  if (group.empty()) return group;
  std::size_t length = group.size() - 1;
  while (length > 0 && group[length] != '/') --length;
  return first_part(group, length);
}

}  // namespace arenite::os
