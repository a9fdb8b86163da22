#include "os/helper_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "os/syscall.h"

namespace arenite::os {

namespace {

void* run(void* body) {
  system_call(SYS_prctl, PR_SET_NAME, as_argument("arenite"));
  reinterpret_cast<void (*)()>(body)();
  return nullptr;
}

}  // namespace

bool start_helper_thread(void (*body)()) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The thread inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(body)) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace arenite::os
