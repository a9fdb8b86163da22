// A thread uses the heap while it ends: in C++ thread_local destructors and in the destructors of pthread keys, which
// set their key again for as many rounds as the system allows. Blocks that the thread had before are freed in the last
// rounds. Threads end in every way there is: some return, some call pthread_exit, some are cancelled, some are
// detached; some have the smallest stack. Thousands of them must not make the process grow.
//
// argument: for how many seconds; 1500 threads at least, which is the default
#include <climits>
#include <cstddef>
#include <cstdint>

#include "support.h"

namespace {

constexpr int kKeys = 4;
constexpr unsigned kBlocks = 40;
constexpr int kThreads = 1500;

pthread_key_t keys[kKeys];

struct Late {
  int round = 0;
  unsigned char* blocks[kBlocks] = {};
};

int alive = 0;  // how many threads have not come to the end of their destructors, once for each key

std::size_t size_of(unsigned index) { return 1 + std::size_t{index} * index * 3; }

void refill(Late* late, unsigned tag) {
  for (unsigned i = 0; i < kBlocks; ++i) {
    late->blocks[i] = static_cast<unsigned char*>(malloc(size_of(i)));
    REQUIRE(late->blocks[i] != nullptr);
    fill(late->blocks[i], size_of(i), tag + i);
  }
}

void release(Late* late, unsigned tag) {
  for (unsigned i = 0; i < kBlocks; ++i) {
    REQUIRE(holds(late->blocks[i], size_of(i), tag + i));
    if (i % 3 == 0) {
      late->blocks[i] = static_cast<unsigned char*>(realloc(late->blocks[i], size_of(i) + 700));
      REQUIRE(late->blocks[i] != nullptr && holds(late->blocks[i], size_of(i), tag + i));
    }
    free(late->blocks[i]);
  }
}

template <int kKey>
void at_thread_exit(void* value) {
  auto* const late = static_cast<Late*>(value);
  release(late, static_cast<unsigned>(late->round));
  ++late->round;
  if (late->round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    refill(late, static_cast<unsigned>(late->round));
    REQUIRE(pthread_setspecific(keys[kKey], late) == 0);
    return;
  }
  free(calloc(1, 200000));
  delete late;
  __atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
}

struct AtThreadExit {
  Late late;
  AtThreadExit() { refill(&late, 77); }
  ~AtThreadExit() {
    release(&late, 77);
    refill(&late, 78);
    release(&late, 78);
  }
};

thread_local AtThreadExit at_thread_exit_object;

enum class Ending : std::uintptr_t { kReturn, kExit, kCancelled, kDetached, kCount };

void* body(void* argument) {
  for (const pthread_key_t key : keys) {
    auto* const late = new Late;
    refill(late, 0);
    REQUIRE(pthread_setspecific(key, late) == 0);
  }
  hide(&at_thread_exit_object);
  const auto ending = static_cast<Ending>(reinterpret_cast<std::uintptr_t>(argument));
  if (ending == Ending::kExit) pthread_exit(argument);
  while (ending == Ending::kCancelled) pause();
  return argument;
}

pthread_t start(const pthread_attr_t* attributes, Ending ending) {
  pthread_t thread;
  __atomic_add_fetch(&alive, kKeys, __ATOMIC_RELAXED);
  const int error = pthread_create(&thread, attributes, body, reinterpret_cast<void*>(ending));
  if (error != 0) fail("pthread_create: error %d", error);
  if (ending == Ending::kCancelled) REQUIRE(pthread_cancel(thread) == 0);
  if (ending == Ending::kDetached) REQUIRE(pthread_detach(thread) == 0);
  return thread;
}

void run_threads(int count) {
  constexpr auto kAtOnce = static_cast<std::uintptr_t>(Ending::kCount);
  pthread_attr_t small;
  REQUIRE(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
  for (unsigned i = 0; i < count / kAtOnce; ++i) {
    pthread_t threads[kAtOnce];
    for (std::uintptr_t ending = 0; ending < kAtOnce; ++ending) {
      // Cancelling needs a stack for the unwinder.
      const bool is_small = (i + ending) % 3 == 0 && static_cast<Ending>(ending) != Ending::kCancelled;
      threads[ending] = start(is_small ? &small : nullptr, static_cast<Ending>(ending));
    }
    for (std::uintptr_t ending = 0; ending < kAtOnce; ++ending) {
      if (static_cast<Ending>(ending) != Ending::kDetached) join_thread(threads[ending]);
    }
    const double latest = seconds_now() + 30;
    while (__atomic_load_n(&alive, __ATOMIC_RELAXED) != 0) {
      if (seconds_now() > latest) fail("a detached thread hung");
      sleep_milliseconds(1);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const double end = seconds_now() + run_time(count, arguments, 0);
  REQUIRE(pthread_key_create(&keys[0], at_thread_exit<0>) == 0);
  REQUIRE(pthread_key_create(&keys[1], at_thread_exit<1>) == 0);
  REQUIRE(pthread_key_create(&keys[2], at_thread_exit<2>) == 0);
  REQUIRE(pthread_key_create(&keys[3], at_thread_exit<3>) == 0);
  run_threads(120);
  const long before = resident_kib();
  do {
    run_threads(kThreads);
    const long grown = resident_kib() - before;
    if (grown > 4096) fail("threads that use the heap while they end made the process grow by %ld KiB", grown);
  } while (seconds_now() < end);
  return 0;
}
