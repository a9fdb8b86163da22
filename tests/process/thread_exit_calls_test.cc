// A thread uses the heap while it ends: in C++ thread_local destructors and in the destructors of pthread keys, which
// set their key again for as many rounds as the system allows. Blocks that the thread had before are freed in the last
// rounds. Thousands of such threads must not make the process grow.
#include <climits>
#include <cstddef>

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

void* body(void* argument) {
  for (const pthread_key_t key : keys) {
    auto* const late = new Late;
    refill(late, 0);
    REQUIRE(pthread_setspecific(key, late) == 0);
  }
  hide(&at_thread_exit_object);
  return argument;
}

void run_threads(int count) {
  for (int i = 0; i < count; i += 4) {
    pthread_t threads[4];
    for (pthread_t& thread : threads) start_thread(&thread, body, nullptr);
    for (const pthread_t thread : threads) join_thread(thread);
  }
}

}  // namespace

int main() {
  REQUIRE(pthread_key_create(&keys[0], at_thread_exit<0>) == 0);
  REQUIRE(pthread_key_create(&keys[1], at_thread_exit<1>) == 0);
  REQUIRE(pthread_key_create(&keys[2], at_thread_exit<2>) == 0);
  REQUIRE(pthread_key_create(&keys[3], at_thread_exit<3>) == 0);
  run_threads(200);
  const long before = resident_kib();
  run_threads(kThreads);
  const long grown = resident_kib() - before;
  if (grown > 4096)
    fail("%d threads that use the heap while they end made the process grow by %ld KiB", kThreads, grown);
  return 0;
}
