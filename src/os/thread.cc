#include "os/thread.h"

#include <pthread.h>

#include "base/attributes.h"
#include "base/sealed.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

ARENITE_INITIAL_EXEC constinit thread_local std::uint32_t cached_number = 0;

pthread_key_t exit_key;
bool exit_key_made = false;

// In the first round of destructors: a thread that first asks in a later round still gets its call in the next.
void on_exit(void*) { sealed.at_thread_exit(); }

}  // namespace

std::uint32_t thread_number() {
  if (ARENITE_UNLIKELY(cached_number == 0)) cached_number = static_cast<std::uint32_t>(system_call(SYS_gettid));
  return cached_number;
}

void forget_thread_number() { cached_number = 0; }

void install_thread_exit(void (*at_exit)()) {
  sealed.at_thread_exit = at_exit;
  exit_key_made = pthread_key_create(&exit_key, on_exit) == 0;
}

void request_thread_exit() {
  if (exit_key_made) pthread_setspecific(exit_key, reinterpret_cast<void*>(std::uintptr_t{1}));
}

}  // namespace arenite::os
