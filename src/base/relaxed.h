// Relaxed atomic access to plain words shared between threads. Relaxed is enough where a value carries no other memory
// with it: the bytes of the granule map, counters, switches that are noticed "soon".
#pragma once

#include "base/attributes.h"
#include "base/build.h"

namespace arenite {

template <typename T>
ARENITE_ALWAYS_INLINE T relaxed_load(const T* place) {
  T value;
  __atomic_load(place, &value, __ATOMIC_RELAXED);
  return value;
}

template <typename T>
ARENITE_ALWAYS_INLINE void relaxed_store(T* place, T value) {
  __atomic_store(place, &value, __ATOMIC_RELAXED);
}

// The same for an aligned word in the fast paths. g++ computes the address of a thread's variable for an atomic access,
// at three instructions more for each of malloc and free; a plain access of a word is as indivisible, and is made once,
// since the fast paths are never inlined into a loop.
template <typename T>
ARENITE_ALWAYS_INLINE T word_load(const T* place) {
  if constexpr (kBuild.thread_sanitizer) return relaxed_load(place);
  return *place;
}

template <typename T>
ARENITE_ALWAYS_INLINE void word_store(T* place, T value) {
  if constexpr (kBuild.thread_sanitizer) {
    relaxed_store(place, value);
  } else {
    *place = value;
  }
}

}  // namespace arenite
