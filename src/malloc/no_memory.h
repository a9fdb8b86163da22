// Where errno is set: null is what the caller sees when memory is out.
#pragma once

#include <errno.h>

#include "base/attributes.h"

namespace arenite {

inline void* or_no_memory(void* pointer) {
  if (ARENITE_UNLIKELY(pointer == nullptr)) errno = ENOMEM;
  return pointer;
}

}  // namespace arenite
