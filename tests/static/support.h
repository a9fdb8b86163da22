// What the programs that are linked with the static library share.
#ifndef ARENITE_TESTS_STATIC_SUPPORT_H
#define ARENITE_TESTS_STATIC_SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
// Weak: it is there only if the library's malloc has been linked in.
extern const char* arenite_version(void) __attribute__((weak));
#ifdef __cplusplus
}
#endif

#define REQUIRE(condition)                                                                        \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

// The allocator that serves malloc is this one if it reports a misuse in its own words: a child frees an address inside
// of a block and its stderr is read.
__attribute__((unused)) static void require_arenite(void) {
  REQUIRE(arenite_version != NULL);
  REQUIRE(arenite_version()[0] != 0);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  fflush(NULL);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(ends[1], 2);
    char* block = (char*)malloc(100);
    __asm__ volatile("" : "+r"(block) : : "memory");
    block += 16;
    __asm__ volatile("" : "+r"(block) : : "memory");
    free(block);
    _exit(0);
  }
  close(ends[1]);
  char text[4096];
  size_t length = 0;
  for (ssize_t count; (count = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)count;
  close(ends[0]);
  text[length] = 0;
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  REQUIRE(strncmp(text, "free(): invalid pointer\narenite: 0x", 34) == 0);
}

#endif
