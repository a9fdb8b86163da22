// Damage that has been found and not reported yet. What finds it holds a lock and goes on without what is damaged; the
// exported functions look here when no lock is held, and report it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/relaxed.h"
#include "base/units.h"
#include "policy/damage.h"

namespace arenite {

struct FoundDamage {
  Damage kind = Damage::kArena;
  bool whole_arena = true;  // contained; else only the span at `where`, or nothing, and the list was mended
  ArenaId arena;            // 0: it concerns none
  const void* where = nullptr;
};

class DamageLog {
 public:
  constexpr DamageLog() = default;

  // The first is kept until it is taken; others are only counted meanwhile.
  void note(const FoundDamage& damage);
  // Relaxed: who finds nothing looks again at the next call.
  bool any() const { return relaxed_load(&state_) == kFull; }
  // False if there is nothing, or somebody else takes it.
  bool take(FoundDamage* damage);
  // Ever noted.
  std::size_t count() const { return relaxed_load(&count_); }

 private:
  using State = std::uint8_t;
  static constexpr State kEmpty = 0;
  static constexpr State kBusy = 1;
  static constexpr State kFull = 2;

  bool change(State from, State to);

  State state_ = kEmpty;
  std::size_t count_ = 0;
  FoundDamage first_;
};

extern DamageLog damage_log;

}  // namespace arenite
