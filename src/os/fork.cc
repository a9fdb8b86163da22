#include "os/fork.h"

#include "base/attributes.h"
#include "base/sealed.h"

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
}

}  // namespace

void install_fork_handlers(const ForkHandlers& handlers) {
  sealed.before_fork = handlers.prepare;
  sealed.after_fork_in_parent = handlers.parent;
  sealed.after_fork_in_child = handlers.child;
  __register_atfork(prepare, parent, child, /*object=*/nullptr);
}

}  // namespace arenite::os
