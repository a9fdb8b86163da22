// What a child of a test writes to stderr.
#ifndef ARENITE_TESTS_PROCESS_REPORTED_H
#define ARENITE_TESTS_PROCESS_REPORTED_H

#include "support.h"

enum { kTextSize = 32768 };
static char text[kTextSize];

// Runs `body` in a child of its own, and keeps in `text` what it writes to stderr. The wait status.
static int run_reported(void (*body)(void)) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(20);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t count; (count = read(ends[0], text + length, kTextSize - 1 - length)) > 0;) length += (size_t)count;
  text[length] = 0;
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

#endif
