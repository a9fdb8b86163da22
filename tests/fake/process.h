// arenite as it is when a process starts: for tests of what stands behind the global objects.
#pragma once

namespace arenite::fake {

// While one lives, nothing of an earlier test is left: options, registry, pool, large mappings, heap table, the calling
// thread's cache are new, nothing is mapped, files are the real ones, and some time has passed. Threads that a test
// starts must have ended before.
class FreshProcess {
 public:
  FreshProcess() { renew(); }
  ~FreshProcess() { renew(); }
  FreshProcess(const FreshProcess&) = delete;
  FreshProcess& operator=(const FreshProcess&) = delete;

 private:
  static void renew();
};

}  // namespace arenite::fake
