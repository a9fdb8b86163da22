#include "heap/footprint.h"

#include "base/bits.h"
#include "policy/options.h"

namespace arenite {

constinit Footprint footprint;

namespace {

constexpr std::size_t minus(std::size_t from, std::size_t bytes) { return from > bytes ? from - bytes : 0; }

}  // namespace

bool Footprint::add(std::size_t bytes) {
  const std::size_t hard = options.hard_limit();
  const std::size_t limit = hard == 0                         ? SIZE_MAX
                            : relaxed_load(&reserve_is_open_) ? hard
                                                              : minus(hard, options.limit_reserve());
  std::size_t seen = relaxed_load(&bytes_);
  do {
    if (bytes > minus(limit, seen)) return false;
  } while (!__atomic_compare_exchange_n(&bytes_, &seen, seen + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return true;
}

void Footprint::remove(std::size_t bytes) {
  const std::size_t left = __atomic_sub_fetch(&bytes_, bytes, __ATOMIC_RELAXED);
  if (ARENITE_LIKELY(!relaxed_load(&reserve_is_open_))) return;
  const std::size_t reserve = options.limit_reserve();
  if (left <= minus(options.hard_limit(), saturating_mul(2, reserve))) relaxed_store(&reserve_is_open_, false);
}

}  // namespace arenite
