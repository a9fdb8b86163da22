#include "malloc/pressure.h"

#include <cstdint>

#include "arena/registry.h"
#include "base/relaxed.h"
#include "cache/drain.h"
#include "heap/large_mappings.h"
#include "malloc/process.h"
#include "malloc/report.h"

namespace arenite {

namespace {

constinit os::Lock lock(os::LockRank::kPressure);
std::uint32_t times_begun = 0;  // written with the lock held

// A slot that was given back twice, or null.
void* flush_caches() {
  void* const own = ready_cache().flush();
  return first_refused(own, drain_other_caches());
}

void report_if_refused(const void* slot) {
  if (ARENITE_UNLIKELY(slot != nullptr)) report_misuse(Misuse::kDoubleFree, slot);
}

// What one thread at a time does. Returns as flush_caches().
void* relieve() {
  const std::uint32_t begun_before = relaxed_load(&times_begun);
  const os::LockGuard guard(lock);
  if (times_begun != begun_before) return nullptr;
  relaxed_store(&times_begun, times_begun + 1);
  void* const refused = flush_caches();
  large_mappings.end_waits();
  registry.for_each([](Arena& arena) {
    arena.trim(0);
    arena.release_reservations();
  });
  return refused;
}

}  // namespace

void relieve_pressure() {
  if (lock.held_by_me()) return;  // in a signal handler that has interrupted it
  report_if_refused(relieve());
}

bool trim_all(std::size_t pad) {
  report_if_refused(flush_caches());
  large_mappings.end_waits();
  std::size_t released = 0;
  registry.for_each([&](Arena& arena) { released += arena.trim(pad); });
  report_damage_if_found();
  return released != 0;
}

os::Lock& pressure_lock() { return lock; }

}  // namespace arenite
