#include "os/fork.h"

#include <sys/mman.h>

#include "base/attributes.h"
#include "base/bits.h"
#include "base/sealed.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/syscall.h"

// NOLINTBEGIN: libc's names. Weak: a libc that has them no more has no such order to keep, either.
extern "C" {
// What pthread_atfork calls, without the object's handle that only start-up files define: the handlers stay for good.
int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* object);
ARENITE_WEAK void _IO_list_lock();
ARENITE_WEAK void _IO_list_unlock();
ARENITE_WEAK void _IO_list_resetlock();
ARENITE_WEAK extern char __libc_single_threaded;
}
// NOLINTEND

namespace arenite::os {

namespace {

bool holds_stream_list = false;  // whether the forking thread does; changed only by a thread that holds it

// In a page of its own, which the kernel clears in each child; null where nothing is watched.
std::uint32_t* no_raw_fork = nullptr;
bool watches_raw_forks = false;

// A process of one thread has nobody to meet, and may fork in a signal handler in the middle of a stream operation.
bool has_other_threads() { return &__libc_single_threaded == nullptr || __libc_single_threaded == 0; }

bool can_lock_streams() {
  return _IO_list_lock != nullptr && _IO_list_unlock != nullptr && _IO_list_resetlock != nullptr;
}

void prepare() {
  if (has_other_threads() && can_lock_streams()) {
    _IO_list_lock();
    holds_stream_list = true;
  }
  sealed.before_fork();
}

void parent() {
  sealed.after_fork_in_parent();
  if (!holds_stream_list) return;
  holds_stream_list = false;
  _IO_list_unlock();
}

// libc has made the lock anew already, or never locked it.
void child() {
  sealed.after_fork_in_child();
  if (holds_stream_list) _IO_list_resetlock();
  holds_stream_list = false;
  if (no_raw_fork != nullptr) *no_raw_fork = 1;
}

}  // namespace

void install_fork_handlers(const ForkHandlers& handlers) {
  sealed.before_fork = handlers.prepare;
  sealed.after_fork_in_parent = handlers.parent;
  sealed.after_fork_in_child = handlers.child;
  sealed.after_raw_fork = handlers.raw_child;
  __register_atfork(prepare, parent, child, /*object=*/nullptr);
}

void watch_for_raw_forks() {
  if (!has_other_threads() || __atomic_exchange_n(&watches_raw_forks, true, __ATOMIC_RELAXED)) return;
  const long bytes = as_argument(page_size());
  const long page =
      system_call(SYS_mmap, /*address=*/0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(page)) return;
  if (failed(system_call(SYS_madvise, page, bytes, MADV_WIPEONFORK))) {
    system_call(SYS_munmap, page, bytes);
    return;
  }
  auto* const word = static_cast<std::uint32_t*>(pointer_at(static_cast<std::uintptr_t>(page)));
  *word = 1;
  __atomic_store_n(&no_raw_fork, word, __ATOMIC_RELEASE);
}

bool repair_after_raw_fork() {
  // Acquire pairs with the release above: the word is set.
  std::uint32_t* const word = __atomic_load_n(&no_raw_fork, __ATOMIC_ACQUIRE);
  if (word == nullptr || __atomic_exchange_n(word, 1, __ATOMIC_RELAXED) != 0) return false;
  sealed.after_raw_fork();
  return true;
}

void nap_for_others(std::uint64_t microseconds) {
  if (!repair_after_raw_fork()) nap(microseconds);
}

}  // namespace arenite::os
