#include "os/fork.h"

#include <pthread.h>

namespace arenite::os {

void install_fork_handlers(const ForkHandlers& handlers) {
  pthread_atfork(handlers.prepare, handlers.parent, handlers.child);
}

}  // namespace arenite::os
