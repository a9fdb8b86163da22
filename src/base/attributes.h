// Compiler attributes under one name each. The only macros of the library besides the table rows; no layer defines
// others.
#pragma once

#define ARENITE_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), true)
#define ARENITE_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), false)

#define ARENITE_EXPORT __attribute__((visibility("default")))
#define ARENITE_ALWAYS_INLINE inline __attribute__((always_inline))
#define ARENITE_NOINLINE __attribute__((noinline))
#define ARENITE_COLD __attribute__((cold, noinline))
#define ARENITE_WEAK __attribute__((weak))

// The hot state of a thread lies in the static TLS block: one load of an offset, no call. A library that is loaded late
// may find no room there.
#if defined(ARENITE_LOADED_LATE)
#define ARENITE_INITIAL_EXEC
#else
#define ARENITE_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#endif
