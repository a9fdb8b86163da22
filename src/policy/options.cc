#include "policy/options.h"

#include "base/text.h"
#include "os/process_start.h"

namespace arenite {

constinit Options options;

// Constant, since the first call may come before any constructor has run.
constinit const OptionRow Options::kRows[] = {
#define ARENITE_OPTION(name, type, value, least, most, parameter, variable, tunable, doc) \
  {#name, OptionType::type, least, most, parameter, variable, tunable, doc},
#include "policy/options.inc"
#undef ARENITE_OPTION
};

namespace {

constexpr std::size_t kMaxDynamicThreshold = 32_MiB;

unsigned digit_value(char character) {
  if (character >= '0' && character <= '9') return static_cast<unsigned>(character - '0');
  const auto lower = static_cast<char>(character | 0x20);
  return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a') + 10 : 99;
}

unsigned suffix_shift(char character) {
  switch (character | 0x20) {
    case 'k':
      return 10;
    case 'm':
      return 20;
    case 'g':
      return 30;
    default:
      return 0;
  }
}

// The part of `list` up to the next ':', which is cut off with it.
std::string_view next_item(std::string_view* list) {
  const std::size_t end = list->find(':');
  const std::string_view item = first_part(*list, end);
  *list = end == std::string_view::npos ? std::string_view{} : rest_from(*list, end + 1);
  return item;
}

// The value of an entry of ARENITE_OPTIONS.
bool parse_value(const OptionRow& row, std::string_view text, std::size_t* value) {
  if (row.type == OptionType::Features) return parse_features(text, value);
  return parse_number(text, row.type == OptionType::Bytes, value);
}

std::string_view wanted_for(OptionType type) {
  switch (type) {
    case OptionType::Bytes:
      return "bytes (K, M or G may follow)";
    case OptionType::Features:
      return "a level from 0 to 3, and features as in 2,-quarantine";
    default:
      return "a number";
  }
}

bool in_range(const OptionRow& row, std::size_t value) { return value >= row.least && value <= row.most; }

}  // namespace

bool parse_number(std::string_view text, bool allow_suffix, std::size_t* value) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (negative || text.front() == '+')) text.remove_prefix(1);
  unsigned shift = 0;
  if (allow_suffix && !text.empty()) shift = suffix_shift(text.back());
  if (shift != 0) text.remove_suffix(1);
  unsigned base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  if (text.empty()) return false;
  std::size_t number = 0;
  for (const char character : text) {
    const unsigned digit = digit_value(character);
    if (digit >= base) return false;
    if (__builtin_mul_overflow(number, std::size_t{base}, &number)) return false;
    if (__builtin_add_overflow(number, std::size_t{digit}, &number)) return false;
  }
  if (number > (SIZE_MAX >> shift)) return false;
  *value = negative ? std::size_t{0} - (number << shift) : number << shift;
  return true;
}

void Options::set(OptionIndex index, std::size_t value) {
  relaxed_store(&values_[static_cast<std::size_t>(index)], value);
  if (index == OptionIndex::harden) sealed.hardening = value;  // only while the process starts
  const bool fixes_thresholds = index == OptionIndex::mmap_threshold || index == OptionIndex::trim_threshold ||
                                index == OptionIndex::top_pad || index == OptionIndex::mmap_max;
  if (fixes_thresholds) relaxed_store(&dynamic_thresholds_, false);
}

void Options::set_parameter(int parameter, int value) {
  for (std::size_t index = 0; index < kCount; ++index) {
    const OptionRow& row = kRows[index];
    if (row.parameter == 0 || row.parameter != parameter) continue;
    const auto wide = static_cast<std::size_t>(static_cast<long>(value));
    const auto option = static_cast<OptionIndex>(index);
    if (row.type == OptionType::Bytes) return set(option, wide);
    if (row.type == OptionType::Bits) return set(option, wide & row.most);
    const std::size_t count = value < 0 ? 0 : wide;
    if (in_range(row, count)) set(option, count);
  }
}

void Options::follow_freed_mapping(std::size_t bytes) {
  if (!dynamic_thresholds() || bytes < mmap_threshold() || bytes > kMaxDynamicThreshold) return;
  // Just above, so that a request of exactly that length is below it.
  relaxed_store(&values_[static_cast<std::size_t>(OptionIndex::mmap_threshold)], bytes + 1);
  relaxed_store(&values_[static_cast<std::size_t>(OptionIndex::trim_threshold)], 2 * bytes);
}

void Options::read_environment(const char* const* environment, Warnings* warnings) {
  for (std::size_t index = 0; index < kCount; ++index) {
    const OptionRow& row = kRows[index];
    if (row.variable.empty()) continue;
    const std::string_view text = os::find_variable(environment, row.variable);
    std::size_t value = 0;
    if (text.data() == nullptr || !parse_number(text, false, &value) || !in_range(row, value)) continue;
    set(static_cast<OptionIndex>(index), value);
  }
  read_tunables(os::find_variable(environment, "GLIBC_TUNABLES"));
  read_arenite_options(os::find_variable(environment, "ARENITE_OPTIONS"), warnings);
}

// As glibc does: unknown names and unusable values are passed over in silence; a second '=' spoils the whole string.
void Options::read_tunables(std::string_view list) {
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view item = next_item(&rest);
    if (item.find('=') != item.rfind('=')) return;
  }
  while (!list.empty()) {
    const std::string_view item = next_item(&list);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    for (std::size_t index = 0; index < kCount; ++index) {
      std::size_t value = 0;
      if (kRows[index].tunable.empty() || kRows[index].tunable != first_part(item, equals)) continue;
      if (!parse_number(rest_from(item, equals + 1), false, &value) || !in_range(kRows[index], value)) continue;
      set(static_cast<OptionIndex>(index), value);
    }
  }
}

void Options::read_arenite_options(std::string_view list, Warnings* warnings) {
  while (!list.empty()) {
    const std::string_view item = next_item(&list);
    if (item.empty()) continue;
    const std::string_view name = first_part(item, item.find('='));
    std::size_t index = 0;
    while (index < kCount && kRows[index].name != name) ++index;
    std::size_t value = 0;
    const bool understood = index < kCount && name.size() < item.size() &&
                            parse_value(kRows[index], rest_from(item, name.size() + 1), &value);
    if (understood && in_range(kRows[index], value)) {
      set(static_cast<OptionIndex>(index), value);
      continue;
    }
    warnings->add("arenite: ARENITE_OPTIONS: '").add(item).add("' is ignored: ");
    if (index == kCount) {
      warnings->add("there is no option of that name; docs/options.md lists them\n");
    } else {
      const OptionRow& row = kRows[index];
      warnings->add("it takes ").add(wanted_for(row.type));
      if (row.type != OptionType::Features) {
        warnings->add(" from ").add_decimal(row.least).add(" to ").add_decimal(row.most);
      }
      warnings->add('\n');
    }
  }
}

}  // namespace arenite
