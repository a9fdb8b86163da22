// What the misuse programs share. A program says which address it is about to misuse, so that the driver can compare
// the report with it; if it is still there afterwards, it says so and ends well, which the driver counts as a failure.
//
// The driver (run) reads the head of each program:
//   EXPECT: TEXT        the exact first line of stderr; several in a row are alternatives
//   RUN: ARGUMENTS      one run with these arguments, for the EXPECT lines before it; without any, one run with none
#ifndef ARENITE_TESTS_MISUSE_MISUSE_H
#define ARENITE_TESTS_MISUSE_MISUSE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Tells the driver about the address and returns it in a way that the compiler cannot follow.
__attribute__((unused)) static void* misused(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  char line[64];
  const int length = snprintf(line, sizeof line, "misused 0x%lx\n", (unsigned long)(uintptr_t)pointer);
  if (write(1, line, (size_t)length) != length) _exit(3);
  return pointer;
}

__attribute__((unused)) static void* hide(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// The heap is as if the wrong call had not been made: blocks of all kinds are handed out once and keep what is in them.
__attribute__((unused)) static void use_heap(void) {
  enum { kBlocks = 300 };
  static const size_t sizes[] = {16, 24, 64, 200, 500, 1000, 3000, 9000, 40000, 300000, 2097152};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    static unsigned char* blocks[kBlocks];
    const size_t size = sizes[i];
    const int count = size < 100000 ? kBlocks : 8;
    for (int block = 0; block < count; block++) {
      blocks[block] = (unsigned char*)malloc(size);
      if (blocks[block] == NULL) _exit(4);
      memset(blocks[block], block, size);
    }
    for (int block = 0; block < count; block++) {
      if (blocks[block][0] != (unsigned char)block || blocks[block][size - 1] != (unsigned char)block) _exit(4);
      free(blocks[block]);
    }
  }
}

__attribute__((unused)) static int survived(void) {
  static const char text[] = "survived\n";
  use_heap();
  if (write(1, text, sizeof text - 1) < 0) _exit(3);
  return 0;
}

__attribute__((unused)) static size_t number(int count, char** arguments, int index, size_t otherwise) {
  return count > index ? (size_t)strtoull(arguments[index], NULL, 0) : otherwise;
}

// A block that has been written to, between two neighbours that stay.
__attribute__((unused)) static void* block_of(size_t size) {
  void* const before = malloc(size);
  void* const block = malloc(size);
  void* const after = malloc(size);
  if (hide(before) == NULL || block == NULL || hide(after) == NULL) _exit(3);
  memset(block, 1, size);
  return hide(block);
}

__attribute__((unused)) static void in_thread(void* (*body)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, argument) != 0) _exit(3);
  if (pthread_join(thread, NULL) != 0) _exit(3);
}

#endif
