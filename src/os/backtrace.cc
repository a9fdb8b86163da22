#include "os/backtrace.h"

#include <errno.h>
#include <execinfo.h>

#include <algorithm>
#include <cstring>

#include "base/bits.h"
#include "os/safe_read.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

// No frame is larger.
constexpr std::size_t kMostFrameBytes = 8_MiB;

struct Frame {
  std::uintptr_t caller;
  std::uintptr_t return_address;
};

// Whether the word can be read, asked of the kernel by a call that has no effect: it takes the mask from there before
// it refuses the first argument. It needs no descriptor, and filters of system calls let it pass.
long probe(std::uintptr_t address) {
  constexpr long kNoSuchWay = -1;
  return system_call(SYS_rt_sigprocmask, kNoSuchWay, static_cast<long>(address), 0, sizeof(std::uint64_t));
}

// The stack of the calling thread stays where it is, so that a plain read may follow the question. This is for where a
// filter forbids the checked read. A kernel that would refuse the first argument first is found out by an address where
// nothing is.
bool read_frame(std::uintptr_t at, Frame* frame) {
  if (!is_aligned(at, alignof(Frame))) return false;
  if (safe_read(pointer_at(at), frame, sizeof *frame)) return true;
  constexpr std::uintptr_t kNothingHere = 8;
  for (const std::size_t offset : {offsetof(Frame, caller), offsetof(Frame, return_address)}) {
    if (probe(at + offset) != -EINVAL || probe(kNothingHere) != -EFAULT) return false;
  }
  std::memcpy(frame, pointer_at(at), sizeof *frame);
  return true;
}

}  // namespace

bool is_return_address(std::uintptr_t address) {
#if defined(__x86_64__)
  // call rel32 is E8 and four bytes; call through a register or memory is FF, /2 and up to five bytes.
  constexpr std::size_t kLongest = 7;
  unsigned char before[kLongest];
  if (address < kLongest) return false;
  std::uint64_t own = 0;
  if (!safe_read(&own, &own, sizeof own)) return true;  // no checked read at all
  if (!safe_read(pointer_at(address - kLongest), before, sizeof before)) return false;
  if (before[kLongest - 5] == 0xE8) return true;
  for (const unsigned length : {2U, 3U, 4U, 6U, 7U}) {
    const unsigned char* const call = before + kLongest - length;
    if (call[0] == 0xFF && ((call[1] >> 3) & 7) == 2) return true;
  }
  // A handler returns to code that no call leads to: mov $__NR_rt_sigreturn, %rax; syscall.
  static constexpr unsigned char kSignalReturn[] = {0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05};
  unsigned char there[sizeof kSignalReturn];
  return safe_read(pointer_at(address), there, sizeof there) && std::equal(there, there + sizeof there, kSignalReturn);
#else
  return address != 0;
#endif
}

// The stack grows downwards: each caller's frame lies above, or the chain is broken.
std::size_t backtrace_from(const void* frame, std::uintptr_t* out, std::size_t most) {
  std::size_t count = 0;
  for (std::uintptr_t at = address_of(frame); count < most;) {
    Frame read{};
    if (!read_frame(at, &read) || read.return_address == 0) break;
    out[count++] = read.return_address;
    if (read.caller <= at || read.caller - at > kMostFrameBytes) break;
    at = read.caller;
  }
  return count;
}

std::size_t backtrace(std::uintptr_t* out, std::size_t most) {
  const std::size_t count = backtrace_from(__builtin_frame_address(0), out, most);
  std::size_t plausible = 0;
  while (plausible < count && is_return_address(out[plausible])) ++plausible;
  return plausible;
}

std::size_t backtrace_by_libc(std::uintptr_t* out, std::size_t most) {
  static_assert(sizeof(void*) == sizeof(std::uintptr_t));
  return static_cast<std::size_t>(::backtrace(reinterpret_cast<void**>(out), static_cast<int>(most)));
}

}  // namespace arenite::os
