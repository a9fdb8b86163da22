#include "arena/damage_log.h"

namespace arenite {

constinit DamageLog damage_log;

// Acquire and release: whoever has made it busy owns `first_` until the next change.
bool DamageLog::change(State from, State to) {
  return __atomic_compare_exchange_n(&state_, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void DamageLog::note(const FoundDamage& damage) {
  __atomic_add_fetch(&count_, 1, __ATOMIC_RELAXED);
  if (!change(kEmpty, kBusy)) return;
  first_ = damage;
  change(kBusy, kFull);
}

bool DamageLog::take(FoundDamage* damage) {
  if (!change(kFull, kBusy)) return false;
  *damage = first_;
  return change(kBusy, kEmpty);
}

}  // namespace arenite
