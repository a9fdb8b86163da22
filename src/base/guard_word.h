// A word that stands before and behind the fields of a structure of arenite's own, so that what runs into them is
// noticed. Its value depends on its place and on the secret of the links: it cannot be guessed, nor copied from
// elsewhere.
#pragma once

#include <cstdint>

#include "base/bits.h"
#include "base/protected_ptr.h"

namespace arenite {

class GuardWord {
 public:
  constexpr GuardWord() = default;
  GuardWord(const GuardWord&) = delete;
  GuardWord& operator=(const GuardWord&) = delete;

  void set() { stored_ = expected(); }
  bool is_whole() const { return stored_ == expected(); }

 private:
  std::uintptr_t expected() const { return ~(address_of(this) ^ sealed.link_secret); }

  std::uintptr_t stored_ = 0;
};

}  // namespace arenite
