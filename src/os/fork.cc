#include "os/fork.h"

// What pthread_atfork calls, without the object's handle that only start-up files define: handlers stay for good, as
// the library does.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* object);  // NOLINT: libc's

namespace arenite::os {

void install_fork_handlers(const ForkHandlers& handlers) {
  __register_atfork(handlers.prepare, handlers.parent, handlers.child, /*object=*/nullptr);
}

}  // namespace arenite::os
