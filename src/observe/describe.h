// What arenite knows of an address, in words, for any address.
#pragma once

#include "base/text.h"

namespace arenite {

using Description = Text<256>;

// Takes no lock: what other threads change at the same time may be told as it was before.
void describe(const void* pointer, Description* text);

}  // namespace arenite
