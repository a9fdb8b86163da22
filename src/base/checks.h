// ARENITE_CHECK: arenite itself is wrong; always on, cold, ends the process. ARENITE_DCHECK: the same in debug builds
// only, type-checked in all. Errors of the caller are misuse (policy/misuse.h), never these.
#pragma once

#include "base/attributes.h"
#include "base/build.h"

namespace arenite {

// Writes "arenite: FILE:LINE: internal check failed: TEXT" to stderr and aborts. Defined in os/console.cc.
[[noreturn]] ARENITE_COLD void check_failed(const char* file, int line, const char* text);

}  // namespace arenite

#define ARENITE_CHECK(condition)                                                                      \
  do {                                                                                                \
    if (ARENITE_UNLIKELY(!(condition))) ::arenite::check_failed(__FILE_NAME__, __LINE__, #condition); \
  } while (false)

#define ARENITE_DCHECK(condition)                                    \
  do {                                                               \
    if constexpr (::arenite::kBuild.debug) ARENITE_CHECK(condition); \
  } while (false)
