// The kinds of damage: arenite's own books disagree with themselves. What is damaged is contained; what is done beyond
// that is decided by check_action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite {

enum class Damage : std::uint8_t {
#define ARENITE_DAMAGE(kind, ...) kind,
#include "policy/damage.inc"
#undef ARENITE_DAMAGE
};

constexpr std::string_view damage_text(Damage kind) {
  constexpr std::string_view kTexts[] = {
#define ARENITE_DAMAGE(kind, text, thing) text,
#include "policy/damage.inc"
#undef ARENITE_DAMAGE
  };
  return kTexts[static_cast<std::size_t>(kind)];
}

constexpr std::string_view damaged_thing(Damage kind) {
  constexpr std::string_view kThings[] = {
#define ARENITE_DAMAGE(kind, text, thing) thing,
#include "policy/damage.inc"
#undef ARENITE_DAMAGE
  };
  return kThings[static_cast<std::size_t>(kind)];
}

}  // namespace arenite
