// Relaxed atomic access to plain words shared between threads. Relaxed is enough where a value carries no other memory
// with it: the bytes of the granule map, counters, switches that are noticed "soon".
#pragma once

#include "base/attributes.h"

namespace arenite {

template <typename T>
ARENITE_ALWAYS_INLINE T relaxed_load(const T* place) {
  return __atomic_load_n(place, __ATOMIC_RELAXED);
}

template <typename T>
ARENITE_ALWAYS_INLINE void relaxed_store(T* place, T value) {
  __atomic_store_n(place, value, __ATOMIC_RELAXED);
}

}  // namespace arenite
