// The kinds of misuse: the caller is wrong, arenite's books are right. What is done about one is decided by
// check_action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite {

enum class Misuse : std::uint8_t {
#define ARENITE_MISUSE(kind, ...) kind,
#include "policy/misuse.inc"
#undef ARENITE_MISUSE
};

constexpr std::string_view misuse_text(Misuse kind) {
  constexpr std::string_view kTexts[] = {
#define ARENITE_MISUSE(kind, text, note) text,
#include "policy/misuse.inc"
#undef ARENITE_MISUSE
  };
  return kTexts[static_cast<std::size_t>(kind)];
}

constexpr std::string_view misuse_note(Misuse kind) {
  constexpr std::string_view kNotes[] = {
#define ARENITE_MISUSE(kind, text, note) note,
#include "policy/misuse.inc"
#undef ARENITE_MISUSE
  };
  return kNotes[static_cast<std::size_t>(kind)];
}

// M_CHECK_ACTION, glibc's bits.
struct CheckAction {
  bool print;
  bool abort;
  bool brief;  // with print: the text only
};

constexpr CheckAction check_action_from(std::size_t bits) {
  return {.print = (bits & 1) != 0, .abort = (bits & 2) != 0, .brief = (bits & 4) != 0};
}

}  // namespace arenite
