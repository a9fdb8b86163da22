// mallopt and the functions that tell or change the state of the whole heap, with glibc's meaning of every figure.
#include <errno.h>

#include "malloc/allocate.h"
#include "malloc/exports.h"
#include "malloc/pressure.h"
#include "malloc/process.h"
#include "observe/statistics.h"
#include "os/console.h"
#include "os/errno_keeper.h"
#include "policy/options.h"

using namespace arenite;

namespace {

// The old structure's fields wrap, as glibc's do.
int wrap_to_int(std::size_t value) { return static_cast<int>(static_cast<unsigned>(value)); }

struct mallinfo narrow_information() {
  const struct mallinfo2 wide = mallinfo2();
  struct mallinfo info = {};
  info.arena = wrap_to_int(wide.arena);
  info.ordblks = wrap_to_int(wide.ordblks);
  info.hblks = wrap_to_int(wide.hblks);
  info.hblkhd = wrap_to_int(wide.hblkhd);
  info.uordblks = wrap_to_int(wide.uordblks);
  info.fordblks = wrap_to_int(wide.fordblks);
  info.keepcost = wrap_to_int(wide.keepcost);
  return info;
}

}  // namespace

extern "C" {

// 1 for every parameter, also for unknown ones and those that glibc has given up.
int mallopt(int parameter, int value) noexcept {
  const os::ErrnoKeeper keeper;
  ensure_started();  // what the environment says comes first
  options.set_parameter(parameter, value);
  return 1;
}

struct mallinfo2 mallinfo2() noexcept {
  const os::ErrnoKeeper keeper;
  const HeapStatistics statistics = collect_statistics();
  struct mallinfo2 info = {};
  info.arena = statistics.all.system;
  info.ordblks = statistics.all.pieces;
  info.hblks = statistics.mappings.count;
  info.hblkhd = statistics.mappings.bytes;
  info.uordblks = statistics.all.in_use;
  info.fordblks = statistics.all.free;
  info.keepcost = statistics.first_arena_top;
  return info;
}

struct mallinfo mallinfo() noexcept {
  return narrow_information();
}

int malloc_trim(std::size_t pad) noexcept {
  const os::ErrnoKeeper keeper;
  return trim_all(pad) ? 1 : 0;
}

void malloc_stats() noexcept {
  const os::ErrnoKeeper keeper;
  write_statistics(os::kStandardError);
}

// Heap images of old programs cannot be made, and none is known to be restorable.
void* malloc_get_state() noexcept {
  errno = ENOSYS;
  return nullptr;
}

int malloc_set_state(void*) noexcept { return -1; }

int __libc_mallopt(int parameter, int value) noexcept { return mallopt(parameter, value); }
struct mallinfo __libc_mallinfo() noexcept {
  return narrow_information();
}

}  // extern "C"
