// Which huge pages heaps and large mappings are to use, by the options and by what the kernel has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arenite {

struct HugeUse {
  enum class Kind : std::uint8_t {
    kNever,    // the kernel is told not to make any
    kDefault,  // the kernel does as it likes
    kAlways,   // transparent ones are asked for, and memory is taken and given back in whole ones
    kPool,     // from those that the machine has set aside; where they are out, as kDefault
  };

  Kind kind = Kind::kDefault;
  std::size_t page = 0;  // of kAlways and kPool: the size of one

  constexpr bool operator==(const HugeUse&) const = default;
};

// What the kernel has, in bytes, 0 for none; read once, if an option asks for it. Relaxed: every thread finds the same.
class HugePageSizes {
 public:
  constexpr HugePageSizes() = default;
  std::size_t transparent();
  std::size_t pool();

 private:
  static constexpr std::size_t kUnknown = SIZE_MAX;
  std::size_t transparent_ = kUnknown;
  std::size_t pool_ = kUnknown;
};

extern HugePageSizes huge_page_sizes;

HugeUse huge_use_of_heaps();
HugeUse huge_use_of_mappings();

}  // namespace arenite
