// The options in force: defaults, then MALLOC_* variables, then GLIBC_TUNABLES, then ARENITE_OPTIONS, then mallopt.
// Values are single words, read relaxed: a change is noticed by other threads soon.
#pragma once

#include <limits.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bits.h"
#include "base/relaxed.h"
#include "base/sealed.h"
#include "base/text.h"
#include "base/units.h"
#include "os/glibc_parameters.h"
#include "os/platform.h"
#include "policy/hardening.h"

namespace arenite {

enum class OptionIndex : std::uint8_t {
#define ARENITE_OPTION(name, ...) name,
#include "policy/options.inc"
#undef ARENITE_OPTION
};

enum class OptionType : std::uint8_t { Count, Bytes, Bits, Features };

struct OptionRow {
  std::string_view name;
  OptionType type;
  std::size_t least;
  std::size_t most;
  int parameter;  // of mallopt; 0 for none
  std::string_view variable;
  std::string_view tunable;
  std::string_view doc;
};

class Options {
 public:
#define ARENITE_OPTION(name, type, value, ...) \
  std::size_t name() const { return relaxed_load(&values_[static_cast<std::size_t>(OptionIndex::name)]); }
#include "policy/options.inc"
#undef ARENITE_OPTION

  std::size_t get(OptionIndex index) const { return relaxed_load(&values_[static_cast<std::size_t>(index)]); }
  void set(OptionIndex index, std::size_t value);
  // The hardening features in force: as the option was when the process started.
  static std::size_t hardening() { return sealed.hardening; }
  static bool hardened(Feature feature) { return (hardening() & feature_bit(feature)) != 0; }

  // As mallopt does: sizes are widened, so that -1 is the largest; bits are masked; counts below the least are passed
  // over, but negative ones are 0 where that is allowed. Unknown parameters are passed over.
  void set_parameter(int parameter, int value);

  // The thresholds follow freed mappings until one of the four parameters that they depend on is set.
  bool dynamic_thresholds() const { return relaxed_load(&dynamic_thresholds_); }
  // A large mapping of `bytes` was freed: requests of that size will come from a heap, and its top stays for two of
  // them.
  void follow_freed_mapping(std::size_t bytes);

  // A line for each entry that is not understood: what it is, and what would be right.
  using Warnings = Text<1024>;
  void read_environment(const char* const* environment, Warnings* warnings);
  void read_arenite_options(std::string_view list, Warnings* warnings);
  void read_tunables(std::string_view list);

 private:
  static constexpr std::size_t kCount = 0
#define ARENITE_OPTION(...) +1
#include "policy/options.inc"
#undef ARENITE_OPTION
      ;

  std::size_t values_[kCount] = {
#define ARENITE_OPTION(name, type, value, ...) value,
#include "policy/options.inc"
#undef ARENITE_OPTION
  };
  bool dynamic_thresholds_ = true;

 public:
  static const OptionRow kRows[kCount];
};

extern Options options;

// A number as glibc's tunables take it: blanks, a sign (-1 is the largest number), decimal, 0x hexadecimal or leading-0
// octal; and, for bytes, a suffix K, M or G. False if `text` is anything else or too large.
bool parse_number(std::string_view text, bool allow_suffix, std::size_t* value);

}  // namespace arenite
