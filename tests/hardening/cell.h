// What the programs of the table of misuse share. A program has some forms of misuse and plays one of them, amid live
// blocks that it knows all bytes of, against whatever allocator is there:
//
//   PROGRAM FORM SIZE     plays one; SIZE is "any" for a form that has no size
//   PROGRAM               lists the forms, each with its sizes
//
// It says "access" or "call" right before the wrong access or call and "accessed" or "called" right after it. At its
// end it allocates more, frees all that is live, and allocates again, so that harm has every chance to be seen.
//
// Exit status: 0 nothing else was affected; 1 something was, and the last line of stdout says what; 3 the misuse could
// not be set up.
#ifndef ARENITE_TESTS_HARDENING_CELL_H
#define ARENITE_TESTS_HARDENING_CELL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kNeighbours = 64, kVictim = 32, kMaxLive = 8192, kIntruder = 0x41, kLarge = 65536 };

struct Form {
  const char* name;
  void (*play)(void);
  int has_size;
  size_t length;  // of an overflow or underflow
};

// What is live: blocks, and memory that is not from malloc and must stay as it is. Every byte holds the pattern.
struct Live {
  unsigned char* start;
  size_t size;
  unsigned char pattern;
  int foreign;
};

static size_t cell_size;
static size_t cell_length;
static struct Live live[kMaxLive];
static int live_count;
static unsigned char* neighbours[kNeighbours];
static unsigned char* victim;
static int harmed;

// Returns the pointer in a way that the compiler cannot follow.
__attribute__((unused)) static void* hide(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

__attribute__((unused)) static size_t hide_size(size_t size) {
  __asm__ volatile("" : "+r"(size) : : "memory");
  return size;
}

static void say(const char* line) {
  const size_t length = strlen(line);
  if (write(1, line, length) != (ssize_t)length || write(1, "\n", 1) != 1) _exit(3);
}

static void fail(const char* what) {
  say(what);
  _exit(1);
}

static void cannot(const char* what) {
  say(what);
  _exit(3);
}

static int overlap(const unsigned char* start, size_t size, const unsigned char* other, size_t other_size) {
  return start < other + other_size && other < start + size;
}

static int is_filled(const unsigned char* start, size_t size, unsigned char byte) {
  return size == 0 || (start[0] == byte && memcmp(start, start + 1, size - 1) == 0);
}

// Blocks of no bytes have addresses of their own, too.
static size_t extent(const struct Live* entry) { return entry->size == 0 ? 1 : entry->size; }

static unsigned char* keep_as(void* start, size_t size, int foreign) {
  if (start == NULL) fail("a valid call found no memory");
  if (live_count == kMaxLive) cannot("too many live blocks");
  struct Live* const entry = &live[live_count];
  entry->start = (unsigned char*)start;
  entry->size = size;
  entry->pattern = (unsigned char)(0x80 | (live_count & 0x7f));
  entry->foreign = foreign;
  for (int i = 0; i < live_count; i++) {
    if (overlap(entry->start, extent(entry), live[i].start, extent(&live[i]))) fail("a live address was handed out");
  }
  live_count++;
  memset(start, entry->pattern, size);
  return entry->start;
}

// Takes note of a block that has just been handed out, and fills it.
static unsigned char* keep(void* block, size_t size) { return keep_as(block, size, 0); }

__attribute__((unused)) static unsigned char* keep_foreign(void* start, size_t size) { return keep_as(start, size, 1); }

// The program is about to give this block up.
__attribute__((unused)) static void* forget(void* block) {
  for (int i = 0; i < live_count; i++) {
    if (live[i].start == block) {
      live[i] = live[--live_count];
      return hide(block);
    }
  }
  cannot("not a live block");
  return NULL;
}

__attribute__((unused)) static void drop(void* block) { free(forget(block)); }

__attribute__((unused)) static void wrong_free(void* pointer) {
  say("call");
  free(hide(pointer));
  say("called");
}

static void verify(void) {
  for (int i = 0; i < live_count; i++) {
    if (!is_filled(live[i].start, live[i].size, live[i].pattern)) harmed = 1;
  }
}

// Some of these are from calloc, and must be zero.
static void allocate_more(size_t size, int count) {
  for (int i = 0; i < count; i++) {
    const int zeroed = i % 4 == 3;
    unsigned char* const block = (unsigned char*)(zeroed ? calloc(1, size) : malloc(size));
    if (zeroed && block != NULL && !is_filled(block, size, 0)) fail("calloc gave memory that is not zero");
    keep(block, size);
  }
}

static void free_all(void) {
  verify();
  while (live_count > 0) {
    const struct Live entry = live[--live_count];
    if (!entry.foreign) free(hide(entry.start));
  }
}

// Of the same size there are more than any form has freed, so that no address which is free twice stays unseen.
static void use_heap(void) {
  static const size_t others[] = {24, 200, 1000, 9000, 300000};
  const int count = cell_size < kLarge ? 1200 : 200;
  allocate_more(cell_size, count);
  free_all();
  allocate_more(cell_size, count);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) allocate_more(others[i], others[i] < kLarge ? 60 : 4);
  free_all();
}

static int cell_main(int count, char** arguments, const struct Form* forms, size_t form_count) {
  for (size_t i = 0; i < form_count; i++) {
    const struct Form* const form = &forms[i];
    if (count < 3) {
      printf("%s %s\n", form->name, form->has_size ? "16 4096 262144" : "any");
    } else if (strcmp(form->name, arguments[1]) == 0) {
      cell_size = form->has_size ? (size_t)strtoull(arguments[2], NULL, 0) : 16;
      cell_length = form->length;
      for (int block = 0; block < kNeighbours; block++) neighbours[block] = keep(malloc(cell_size), cell_size);
      victim = neighbours[kVictim];
      errno = 0;
      form->play();
      use_heap();
      if (harmed) say("bytes of another live block have changed");
      return harmed;
    }
  }
  if (count >= 3) cannot("no such form");
  return 0;
}

#endif
