#include <atomic>

#include "os/syscall.h"

// The real function is compiled here under another namespace, which is why the file is included.
namespace arenite::real_os {
using namespace arenite::os;
}

#define os real_os
#include "../../src/os/clock.cc"
#undef os

#include "fake/clock.h"

namespace arenite::fake {

namespace {

std::atomic<std::uint64_t> advance{0};

}  // namespace

void advance_clock(std::uint64_t microseconds) { advance += microseconds; }

}  // namespace arenite::fake

// The functions of os/clock.h.
namespace arenite::os {

std::uint64_t monotonic_microseconds() { return real_os::monotonic_microseconds() + fake::advance; }
void nap(std::uint64_t microseconds) { real_os::nap(microseconds); }

}  // namespace arenite::os
