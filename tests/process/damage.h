// What a program can do to the books of an arena, given one of its own blocks there.
#ifndef ARENITE_TESTS_PROCESS_DAMAGE_H
#define ARENITE_TESTS_PROCESS_DAMAGE_H

#include "support.h"
#include "work.h"

static const size_t kWindow = 64 * MIB;

static char* base_of(void* block) { return (char*)((uintptr_t)block & ~(uintptr_t)(kWindow - 1)); }

// Whether the byte can be read, without a signal if it cannot.
static int has_access(char* at) {
  char byte;
  const struct iovec here = {&byte, 1};
  const struct iovec there = {at, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

// All that an overflow in either direction reaches before it meets memory without access.
static void around_a_block(char* block) {
  int can_write = has_access(block - 32);
  for (char* at = block - 32; at < block + 4096; at++) {
    if ((uintptr_t)at % 4096 == 0) can_write = has_access(at);
    if (can_write) *at = 0x41;
  }
}
static void start_of_a_heap(char* block) { memset(base_of(block), 0x41, 64); }
static void header_of_a_heap(char* block) { memset(base_of(block), 0x41, 16384); }
static void end_of_the_header(char* block) { memset(base_of(block) + 8192, 0xff, 8192); }
static void spans_of_a_heap(char* block) { memset(base_of(block) + 16384, 0x41, 4096 * 14); }
static void zeroed_header(char* block) { memset(base_of(block), 0, 16384); }
static void zeroed_spans(char* block) { memset(base_of(block) + 16384, 0, 4096 * 14); }

typedef struct {
  const char* name;
  void (*damage)(char* block);
  int is_found;  // by the books themselves; what is not may reach blocks of the same arena
} Kind;

static const Kind kinds[] = {
    {"around a block", around_a_block, 0},        {"start of a heap", start_of_a_heap, 1},
    {"header of a heap", header_of_a_heap, 1},    {"end of the header", end_of_the_header, 0},
    {"spans of a heap", spans_of_a_heap, 1},      {"zeroed header", zeroed_header, 1},
    {"zeroed span descriptors", zeroed_spans, 1},
};

enum { kKinds = sizeof kinds / sizeof *kinds };

__attribute__((unused)) static int has_one_arena(void) { return getenv("MALLOC_ARENA_MAX") != NULL; }

// Held for writing while damage is done: in the middle of a call it could undo what the call has just seen to be right.
static pthread_rwlock_t calls;

__attribute__((unused)) static void set_up_calls(void) {
  pthread_rwlockattr_t attributes;
  REQUIRE(pthread_rwlockattr_init(&attributes) == 0);
  REQUIRE(pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
  REQUIRE(pthread_rwlock_init(&calls, &attributes) == 0);
}

__attribute__((unused)) static void damage_between_calls(const Kind* kind, char* block) {
  pthread_rwlock_wrlock(&calls);
  kind->damage(block);
  pthread_rwlock_unlock(&calls);
}

__attribute__((unused)) static void step_between_damage(Work* work) {
  pthread_rwlock_rdlock(&calls);
  step(work);
  pthread_rwlock_unlock(&calls);
}

#endif
