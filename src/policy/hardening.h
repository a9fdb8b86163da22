// The hardening features, which the option `harden` switches: by a level, and then one by one. Chosen when the process
// starts, for its whole life, since they decide what blocks look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite {

enum class Feature : std::uint8_t {
#define ARENITE_FEATURE(name, ...) name,
#include "policy/hardening.inc"
#undef ARENITE_FEATURE
};

struct FeatureRow {
  std::string_view name;
  unsigned least_level;
};

inline constexpr FeatureRow kFeatures[] = {
#define ARENITE_FEATURE(name, least_level, doc) {#name, least_level},
#include "policy/hardening.inc"
#undef ARENITE_FEATURE
};

inline constexpr unsigned kMostHardened = 3;

constexpr std::size_t feature_bit(Feature feature) { return std::size_t{1} << static_cast<unsigned>(feature); }

constexpr std::size_t features_of_level(unsigned level) {
  std::size_t features = 0;
  std::size_t bit = 1;
  for (const FeatureRow& row : kFeatures) {
    if (row.least_level <= level) features |= bit;
    bit *= 2;
  }
  return features;
}

// "LEVEL", and then any number of ",+FEATURE" and ",-FEATURE". False, and nothing changed, if it is anything else.
bool parse_features(std::string_view text, std::size_t* features);

}  // namespace arenite
