// How much memory arenite has from the system: the dirty units of all heaps, and the large mappings. What its own books
// take is not counted. Here the hard limit is kept, with a reserve behind it:
//
//   closed   requests are refused above hard_limit - limit_reserve
//   open     after a refusal that reached the program, so that it can deal with it: they are refused above hard_limit.
//            Closed again once the footprint has fallen by the reserve's size
#pragma once

#include <cstddef>

#include "base/relaxed.h"

namespace arenite {

class Footprint {
 public:
  constexpr Footprint() = default;

  // False, and nothing added, if the limit would be exceeded.
  bool add(std::size_t bytes);
  // What has been taken is this much longer; never refused.
  void add_rounding(std::size_t bytes) { __atomic_add_fetch(&bytes_, bytes, __ATOMIC_RELAXED); }
  void remove(std::size_t bytes);

  // A request could not be served, and the program is told.
  void note_refusal() { relaxed_store(&reserve_is_open_, true); }

  std::size_t bytes() const { return relaxed_load(&bytes_); }

 private:
  // Relaxed: a sum, of which only the value counts.
  std::size_t bytes_ = 0;
  bool reserve_is_open_ = false;
};

extern Footprint footprint;

}  // namespace arenite
