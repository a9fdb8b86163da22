// Every so many blocks of a hardened process is put on pages of its own, with a note of who took it and who gave it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "heap/canary.h"

namespace arenite {

// While the process starts: the slots, and the handler that tells of what they find.
void open_sampled_slots();

// The calling thread's turn has come, and the block is such a one. Null if not.
void* take_sampled(std::size_t size, std::size_t alignment, BlockOrigin origin);
// A live block of that kind comes back. False if somebody else has given it meanwhile.
bool give_sampled(void* pointer);

}  // namespace arenite
