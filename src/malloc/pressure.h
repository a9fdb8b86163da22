// What is there but not in use goes back to the system: because it has refused a request, or on demand.
#pragma once

#include <cstddef>

#include "os/lock.h"

namespace arenite {

// A request has been refused: caches, free pages and unused address space go back, so that it can be tried once more.
// Where many threads are refused at once, one does it for those that have come before it began.
void relieve_pressure();

// Gives back all threads' caches (those of running threads at their next slow calls), and of all arenas all but `pad`
// bytes of each top. True if pages went to the system.
bool trim_all(std::size_t pad);

// Held while a thread relieves.
os::Lock& pressure_lock();

}  // namespace arenite
