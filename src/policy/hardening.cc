#include "policy/hardening.h"

#include "base/text.h"

namespace arenite {

namespace {

// The bit of the feature of that name; 0 if there is none.
std::size_t bit_of(std::string_view name) {
  std::size_t bit = 1;
  for (const FeatureRow& row : kFeatures) {
    if (row.name == name) return bit;
    bit *= 2;
  }
  return 0;
}

}  // namespace

bool parse_features(std::string_view text, std::size_t* features) {
  if (text.empty() || text.front() < '0' || text.front() > static_cast<char>('0' + kMostHardened)) return false;
  std::size_t chosen = features_of_level(static_cast<unsigned>(text.front() - '0'));
  text.remove_prefix(1);
  while (!text.empty()) {
    if (text.size() < 3 || text[0] != ',' || (text[1] != '+' && text[1] != '-')) return false;
    const bool on = text[1] == '+';
    text.remove_prefix(2);
    const std::string_view name = first_part(text, text.find(','));
    const std::size_t bit = bit_of(name);
    if (bit == 0) return false;
    chosen = on ? chosen | bit : chosen & ~bit;
    text.remove_prefix(name.size());
  }
  // Without the canary there is no place for the kind.
  if ((chosen & feature_bit(Feature::canary)) == 0) chosen &= ~feature_bit(Feature::kinds);
  *features = chosen;
  return true;
}

}  // namespace arenite
