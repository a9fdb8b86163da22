// Tells of misuse and damage and acts as check_action says. Called with none of arenite's locks held. Allocates
// nothing.
#pragma once

#include "arena/damage_log.h"
#include "base/attributes.h"
#include "heap/block.h"
#include "os/fault_handler.h"
#include "policy/misuse.h"

namespace arenite {

// May return: then the call that was wrong is to have no effect.
ARENITE_COLD void report_misuse(Misuse kind, const void* pointer);

// What damage has been found since the last call is told in the same way. The books are right again, without what is
// contained.
ARENITE_COLD void report_found_damage();
inline void report_damage_if_found() {
  if (ARENITE_UNLIKELY(damage_log.any())) report_found_damage();
}

// Memory has been touched that may not be; the process is about to end by that.
ARENITE_COLD void report_fault(const os::Fault& fault);

// What kind of misuse it is to free an address at which no live block starts.
Misuse classify_bad_free(const Block& nothing);

}  // namespace arenite
