#include "malloc/process.h"

#include "arena/registry.h"
#include "base/sealed.h"
#include "cache/drain.h"
#include "heap/large_mappings.h"
#include "heap/sampled_slots.h"
#include "malloc/background.h"
#include "malloc/pressure.h"
#include "malloc/report.h"
#include "malloc/sampling.h"
#include "os/console.h"
#include "os/fork.h"
#include "os/guarded_memory.h"
#include "os/overcommit.h"
#include "os/process_start.h"
#include "os/thread.h"
#include "policy/options.h"

namespace arenite {

namespace {

constinit os::Lock start_lock(os::LockRank::kStart);
bool started = false;
std::uint32_t forking_thread = 0;

// How long fork waits for one lock before it goes on without. Locks are held for microseconds.
constexpr std::uint32_t kForkPatienceMicroseconds = 100'000;

// The locks that guard what all arenas share.
template <typename Action>
void for_each_shared_lock(Action action) {
  large_mappings.for_each_lock(action);
  action(sampled_slots.lock());
  action(registry.lock());
  action(store_pool.lock());
}

// In the order of their ranks.
template <typename Action>
void for_each_lock(Action action) {
  action(pressure_lock());
  registry.for_each([&](Arena& arena) { action(arena.lock()); });
  for_each_shared_lock(action);
}

void before_fork() {
  ThreadCache::current().before_fork();
  forking_thread = os::thread_number();
  for_each_lock([](os::Lock& lock) { lock.before_fork(kForkPatienceMicroseconds); });
}

void after_fork_in_parent() {
  for_each_lock([](os::Lock& lock) { lock.after_fork_in_parent(); });
  ThreadCache::current().after_fork_in_parent();
}

// The other threads are gone. An arena that one of them was changing is contained. What the forking thread itself is
// changing, since a signal handler has forked in the middle of its call, is left as it is until that call goes on:
// arenas then stay attached to vanished threads, or keep what these held.
void after_fork_in_child() {
  os::forget_thread_number();
  pressure_lock().after_fork_in_child(forking_thread);
  registry.for_each([](Arena& arena) {
    if (!arena.lock().after_fork_in_child(forking_thread)) arena.contain();
  });
  // The other locks guard tables that cannot be contained; they are held so briefly that waiting for them does not
  // fail.
  for_each_shared_lock([](os::Lock& lock) { lock.after_fork_in_child(forking_thread); });
  if (!registry.lock().held_by_me()) registry.keep_only(ThreadCache::current().arena());
  registry.for_each([](Arena& arena) {
    if (!arena.lock().held_by_me()) arena.end_holds();
  });
  ThreadCache::current().after_fork_in_child();
  if (!store_pool.lock().held_by_me()) note_vanished_caches();
  note_background_is_gone();
}

void after_raw_fork() {
  ThreadCache::current().note_raw_fork();
  forking_thread = os::thread_number();
  after_fork_in_child();
}

void on_thread_exit() {
  if (void* const refused = ThreadCache::current().end(); refused != nullptr) {
    report_misuse(Misuse::kDoubleFree, refused);
  }
}

void start() {
  const os::ProcessStart process = os::process_start();
  sealed.link_secret = process.random;
  os::note_privilege(process.privileged);
  Options::Warnings warnings;
  if (!process.privileged) options.read_environment(process.environment, &warnings);
  os::install_thread_exit(on_thread_exit);
  os::install_fork_handlers({.prepare = before_fork,
                             .parent = after_fork_in_parent,
                             .child = after_fork_in_child,
                             .raw_child = after_raw_fork});
  open_sampled_slots();
  os::seal(&sealed, sizeof sealed);
  os::write_all(os::kStandardError, warnings.view());
}

bool wants_magazines() { return options.thread_cache() != 0 && options.perturb() == 0; }

CacheRules cache_rules() {
  return {.lever = options.hardening() != 0,
          .random = options.hardened(Feature::random),
          .quarantine = options.hardened(Feature::quarantine),
          .sample_interval =
              options.hardened(Feature::sampled) ? static_cast<std::uint32_t>(options.sample_interval()) : 0};
}

}  // namespace

// Whoever comes while another thread starts waits; the starting thread's own nested calls go on at once.
void ensure_started() {
  // Acquire pairs with the release below: the options are read.
  if (__atomic_load_n(&started, __ATOMIC_ACQUIRE) || start_lock.held_by_me()) return;
  const os::LockGuard guard(start_lock);
  if (started) return;
  start();
  __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

ThreadCache& ready_cache() {
  ThreadCache& cache = ThreadCache::current();
  if (ARENITE_UNLIKELY(cache.is_new())) {
    ensure_started();
    if (cache.is_new()) cache.attach(wants_magazines(), cache_rules());  // the start itself may have used the heap
    os::watch_for_raw_forks();
  }
  return cache;
}

}  // namespace arenite
