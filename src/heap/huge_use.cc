#include "heap/huge_use.h"

#include "base/relaxed.h"
#include "os/huge_pages.h"
#include "os/platform.h"
#include "policy/options.h"

namespace arenite {

constinit HugePageSizes huge_page_sizes;

std::size_t HugePageSizes::transparent() {
  if (relaxed_load(&transparent_) == kUnknown) {
    relaxed_store(&transparent_, os::thp_mode() == os::ThpMode::kNever ? 0 : os::thp_size());
  }
  return relaxed_load(&transparent_);
}

std::size_t HugePageSizes::pool() {
  if (relaxed_load(&pool_) == kUnknown) relaxed_store(&pool_, os::default_huge_page_size());
  return relaxed_load(&pool_);
}

namespace {

HugeUse transparent() {
  const std::size_t page = huge_page_sizes.transparent();
  return page == 0 ? HugeUse{} : HugeUse{.kind = HugeUse::Kind::kAlways, .page = page};
}

// What the tunable hugetlb asks for: 0 nothing, 1 transparent pages, 2 the pool, more the pool with pages of that size.
HugeUse by_tunable() {
  const std::size_t hugetlb = options.hugetlb();
  if (hugetlb == 0) return {};
  if (hugetlb == 1) return transparent();
  const std::size_t page = hugetlb == 2 ? huge_page_sizes.pool() : hugetlb;
  const bool usable = page > kMaxPageSize && (page & (page - 1)) == 0;
  return usable ? HugeUse{.kind = HugeUse::Kind::kPool, .page = page} : HugeUse{};
}

}  // namespace

HugeUse huge_use_of_heaps() {
  const HugeUse use = by_tunable();
  if (use.kind != HugeUse::Kind::kDefault && use.page < kHeapSize / 2) return use;
  switch (options.huge_heaps()) {
    case 0:
      return {.kind = HugeUse::Kind::kNever};
    case 2:
      return transparent();
    default:
      return {};
  }
}

HugeUse huge_use_of_mappings() { return by_tunable(); }

}  // namespace arenite
