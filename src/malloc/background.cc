#include "malloc/background.h"

#include "arena/registry.h"
#include "cache/drain.h"
#include "malloc/process.h"
#include "malloc/report.h"
#include "os/clock.h"
#include "os/helper_thread.h"
#include "policy/options.h"

namespace arenite {

namespace {

bool is_running = false;

void work() {
  for (;;) {
    os::nap(options.purge_interval() * 1'000);
    if (void* const refused = drain_idle_caches(); refused != nullptr) {
      report_misuse(Misuse::kDoubleFree, refused);
    }
    registry.for_each([](Arena& arena) { arena.purge_idle(); });
  }
}

// As early as a thread can be started.
[[gnu::constructor]] void start_early() {
  ensure_started();
  start_background_if_wanted();
}

}  // namespace

void start_background_if_wanted() {
  if (ARENITE_LIKELY(options.purge_interval() == 0 || relaxed_load(&is_running))) return;
  if (__atomic_exchange_n(&is_running, true, __ATOMIC_RELAXED)) return;
  os::start_helper_thread(work);  // where there can be none, it is not tried again
}

void note_background_is_gone() { relaxed_store(&is_running, false); }

}  // namespace arenite
