#include "os/backtrace.h"

#include <execinfo.h>

#include "base/bits.h"
#include "os/safe_read.h"

namespace arenite::os {

namespace {

// No frame is larger.
constexpr std::size_t kMostFrameBytes = 8_MiB;

struct Frame {
  std::uintptr_t caller;
  std::uintptr_t return_address;
};

}  // namespace

// The stack grows downwards: each caller's frame lies above, or the chain is broken.
std::size_t backtrace_from(const void* frame, std::uintptr_t* out, std::size_t most) {
  std::size_t count = 0;
  for (std::uintptr_t at = address_of(frame); count < most;) {
    Frame read{};
    if (!is_aligned(at, alignof(Frame)) || !safe_read(pointer_at(at), &read, sizeof read)) break;
    if (read.return_address == 0) break;
    out[count++] = read.return_address;
    if (read.caller <= at || read.caller - at > kMostFrameBytes) break;
    at = read.caller;
  }
  return count;
}

std::size_t backtrace(std::uintptr_t* out, std::size_t most) {
  return backtrace_from(__builtin_frame_address(0), out, most);
}

std::size_t backtrace_by_libc(std::uintptr_t* out, std::size_t most) {
  static_assert(sizeof(void*) == sizeof(std::uintptr_t));
  return static_cast<std::size_t>(::backtrace(reinterpret_cast<void**>(out), static_cast<int>(most)));
}

}  // namespace arenite::os
