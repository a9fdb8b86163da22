// Threads damage the books of their arenas, one after the other, and go on; meanwhile others allocate and check, one
// trims, and main forks. Where a fork meets the containment of an arena, or a trim, neither process hangs, and what is
// unharmed stays right in both.
//
// argument: for how many seconds; 2 by default
#include "damage.h"
#include "support.h"
#include "work.h"

enum { kDamagers = 12, kWorkers = 2, kOwn = 400 };

static int stop;
static int damagers_left;

static int goes_on(void) { return !__atomic_load_n(&stop, __ATOMIC_RELAXED); }

static void* work_on(void* argument) {
  static __thread Work work = {.never_resizes = 1};
  work.random = (uintptr_t)argument;
  while (goes_on()) step_between_damage(&work);
  return NULL;
}

static void* trim(void* argument) {
  while (goes_on()) {
    pthread_rwlock_rdlock(&calls);
    malloc_trim(0);
    pthread_rwlock_unlock(&calls);
  }
  return argument;
}

// Of the kinds that the books themselves find; the others may harm blocks of other threads.
static const Kind* kind_of(uint64_t number) {
  const Kind* kind = &kinds[number % kKinds];
  while (!kind->is_found) kind = kind == &kinds[kKinds - 1] ? kinds : kind + 1;
  return kind;
}

static void* do_damage(void* argument) {
  char* blocks[kOwn];
  for (int i = 0; i < kOwn; i++) REQUIRE((blocks[i] = (char*)malloc(64 + (size_t)i % 5 * 16)) != NULL);
  damage_between_calls(kind_of((uintptr_t)argument), blocks[1]);
  for (int i = 0; i < kOwn; i++) free(blocks[i]);
  for (size_t i = 0; i < kOwn; i++) {
    char* const block = (char*)hide(malloc(i * 20));
    REQUIRE(block != NULL);
    free(block);
  }
  __atomic_sub_fetch(&damagers_left, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void* do_all_damage(void* argument) {
  for (uintptr_t i = 0; __atomic_load_n(&damagers_left, __ATOMIC_RELAXED) != 0; i++) {
    pthread_t damager;
    start_thread(&damager, do_damage, (void*)((uintptr_t)argument + i));
    join_thread(damager);
  }
  return NULL;
}

static void fork_once(uint64_t number) {
  pthread_rwlock_rdlock(&calls);
  const pid_t child = number % 4 == 3 ? raw_fork() : fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    static Work work = {.never_resizes = 1};
    work.random = number;
    for (int i = 0; i < 1000; i++) step(&work);
    malloc_trim(0);
    _exit(0);
  }
  pthread_rwlock_unlock(&calls);
  const int status = wait_for(child, 15);
  if (status != 0) fail("a child ended with status 0x%x", (unsigned)status);
}

// One process has only so many arenas to lose; blocks are then mappings of their own, with no books around them.
static void live_with_damage(uint64_t seed) {
  mallopt(M_CHECK_ACTION, 0);
  set_up_calls();
  damagers_left = has_one_arena() ? 1 : kDamagers;
  pthread_t threads[kWorkers + 1];
  for (uintptr_t i = 0; i < kWorkers; i++) start_thread(&threads[i], work_on, (void*)(uintptr_t)(seed + i));
  start_thread(&threads[kWorkers], trim, NULL);
  pthread_t damage;
  start_thread(&damage, do_all_damage, (void*)(uintptr_t)seed);
  for (uint64_t i = 0; __atomic_load_n(&damagers_left, __ATOMIC_RELAXED) != 0; i++) fork_once(seed + i);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  join_thread(damage);
  for (int i = 0; i <= kWorkers; i++) join_thread(threads[i]);
  fork_once(seed);
}

int main(int count, char** arguments) {
  const double end = seconds_now() + run_time(count, arguments, 2);
  for (uint64_t seed = 0; seconds_now() < end; seed++) {
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
      live_with_damage(seed);
      _exit(0);
    }
    const int status = wait_for(process, 40);
    if (status != 0) fail("the process with damage ended with status 0x%x", (unsigned)status);
  }
  return 0;
}
