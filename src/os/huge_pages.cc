#include "os/huge_pages.h"

#include "base/bits.h"
#include "base/text.h"
#include "os/file.h"
#include "os/kernel_text.h"

namespace arenite::os {

ThpMode thp_mode_in(std::string_view enabled) {
  const std::size_t bracket = enabled.find('[');
  if (bracket == std::string_view::npos) return ThpMode::kNever;
  const std::string_view mode = rest_from(enabled, bracket + 1);
  if (mode.starts_with("always]")) return ThpMode::kAlways;
  if (mode.starts_with("madvise]")) return ThpMode::kMadvise;
  return ThpMode::kNever;
}

std::size_t huge_page_size_in(std::string_view meminfo) {
  const std::uint64_t kibibytes = leading_number(line_value(meminfo, "Hugepagesize"));
  return kibibytes == kNoNumber ? 0 : saturating_mul(kibibytes, 1_KiB);
}

ThpMode thp_mode() {
  char buffer[64];
  return thp_mode_in(read_file("/sys/kernel/mm/transparent_hugepage/enabled", buffer, sizeof buffer));
}

std::size_t thp_size() {
  char buffer[32];
  const std::uint64_t bytes =
      leading_number(read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", buffer, sizeof buffer));
  return bytes == kNoNumber ? 0 : bytes;
}

std::size_t default_huge_page_size() {
  char buffer[8192];
  return huge_page_size_in(read_file("/proc/meminfo", buffer, sizeof buffer));
}

}  // namespace arenite::os
