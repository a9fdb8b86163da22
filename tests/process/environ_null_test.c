// A program throws its environment away before any constructor has run, and again later. The heap and its options must
// not mind.
#include "support.h"

extern char** environ;

static void before_constructors(void) { environ = NULL; }

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = before_constructors;

static void use_heap(void) {
  for (size_t size = 1; size < 8 * MIB; size = size * 3 / 2 + 1) {
    unsigned char* const block = (unsigned char*)malloc(size);
    REQUIRE(block != NULL);
    block[0] = block[size - 1] = 1;
    free(block);
  }
}

static void* body(void* argument) {
  use_heap();
  return argument;
}

int main(void) {
  // The C library may have set it again when its own constructor ran.
  environ = NULL;
  use_heap();
  pthread_t thread;
  start_thread(&thread, body, NULL);
  join_thread(thread);
  REQUIRE(environ == NULL);
  REQUIRE(setenv("ARENITE_OPTIONS", "no_such_option=1:::=:x", 1) == 0);
  REQUIRE(setenv("MALLOC_ARENA_MAX", "", 1) == 0);
  use_heap();
  start_thread(&thread, body, NULL);
  join_thread(thread);
  REQUIRE(clearenv() == 0);
  REQUIRE(malloc_trim(0) <= 1);
  use_heap();
  return 0;
}
