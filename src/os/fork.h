// What is to be done around fork.
#pragma once

namespace arenite::os {

struct ForkHandlers {
  void (*prepare)();
  void (*parent)();
  void (*child)();
};

void install_fork_handlers(const ForkHandlers& handlers);

}  // namespace arenite::os
