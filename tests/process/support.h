// What the process tests share, for C and C++. Nothing in here allocates, so a broken allocator can still be reported.
// A C program includes this only: it asks for the GNU names.
#ifndef ARENITE_TESTS_PROCESS_SUPPORT_H
#define ARENITE_TESTS_PROCESS_SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

// Writes one line and ends the process at once, without exit handlers.
__attribute__((unused, noreturn, format(printf, 1, 2))) static void fail(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length < 0) length = 0;
  if ((size_t)length > sizeof line - 2) length = (int)sizeof line - 2;
  line[length] = '\n';
  if (syscall(SYS_write, 2, line, (size_t)length + 1) < 0) _exit(2);
  _exit(1);
}

#define REQUIRE(condition)                                                                           \
  do {                                                                                               \
    if (!(condition)) fail("%s:%d: not true: %s (errno %d)", __FILE__, __LINE__, #condition, errno); \
  } while (0)

// The same pointer, of which the compiler no longer knows where it came from.
__attribute__((unused)) static inline void* hide(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

__attribute__((unused)) static uint64_t next_random(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

__attribute__((unused)) static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Whether blocks are checked more than by default.
__attribute__((unused)) static int is_hardened(void) {
  const char* const options = getenv("ARENITE_OPTIONS");
  return options != NULL && strstr(options, "harden") != NULL;
}

// For how many seconds the program is to run: its argument, if there is one.
__attribute__((unused)) static double run_time(int count, char** arguments, double by_default) {
  return count > 1 ? atof(arguments[1]) : by_default;
}

__attribute__((unused)) static void sleep_milliseconds(long milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

// A field of /proc/self/status that is counted in KiB, such as VmRSS.
__attribute__((unused)) static long status_kib(const char* field) {
  char text[8192];
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("/proc/self/status cannot be opened");
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length < 0 ? 0 : length] = 0;
  const char* const found = strstr(text, field);
  if (found == NULL) fail("no %s in /proc/self/status", field);
  return strtol(found + strlen(field) + 1, NULL, 10);
}

__attribute__((unused)) static long resident_kib(void) { return status_kib("VmRSS"); }

__attribute__((unused)) static long mapping_count(void) {
  char text[4096];
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("/proc/self/maps cannot be opened");
  long lines = 0;
  for (ssize_t length; (length = read(fd, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < length; i++) lines += text[i] == '\n';
  }
  close(fd);
  return lines;
}

// Every byte of a block gets a value that depends on its tag and on its place.
__attribute__((unused)) static unsigned char pattern_byte(size_t index, unsigned tag) {
  return (unsigned char)(tag * 37 + index + (index >> 8) * 11);
}

__attribute__((unused)) static void fill(void* block, size_t size, unsigned tag) {
  unsigned char* const bytes = (unsigned char*)block;
  for (size_t i = 0; i < size; i++) bytes[i] = pattern_byte(i, tag);
}

__attribute__((unused)) static int holds(const void* block, size_t size, unsigned tag) {
  const unsigned char* const bytes = (const unsigned char*)block;
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != pattern_byte(i, tag)) return 0;
  }
  return 1;
}

// No request of `size` can be served now. `kept`, of `kept_size` bytes with the pattern of `tag`, may be null.
__attribute__((unused)) static void expect_no_memory(size_t size, void* kept, size_t kept_size, unsigned tag) {
  errno = 0;
  REQUIRE(malloc(size) == NULL && errno == ENOMEM);
  errno = 0;
  REQUIRE(calloc(size, 1) == NULL && errno == ENOMEM);
  errno = 0;
  REQUIRE(realloc(kept, size) == NULL && errno == ENOMEM);
  errno = 0;
  REQUIRE(aligned_alloc(4096, size) == NULL && errno == ENOMEM);
  void* untouched = kept;
  REQUIRE(posix_memalign(&untouched, 4096, size) == ENOMEM && untouched == kept);
  if (kept != NULL) REQUIRE(holds(kept, kept_size, tag));
}

// Waits for a child; one that does not end in time is killed and counts as hung, which ends the test.
__attribute__((unused)) static int wait_for(pid_t child, double seconds) {
  const double end = seconds_now() + seconds;
  for (;;) {
    int status = 0;
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) return status;
    if (done < 0) fail("waitpid: errno %d", errno);
    if (seconds_now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      fail("a child process hung for %.0f seconds", seconds);
    }
    sleep_milliseconds(1);
  }
}

// A child without any fork handler.
__attribute__((unused)) static pid_t raw_fork(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

// The test goes on with these options besides those that it was started with.
__attribute__((unused)) static void run_with_options(const char* options) {
  const char* const given = getenv("ARENITE_OPTIONS");
  if (given != NULL && strstr(given, options) != NULL) return;
  char all[512];
  snprintf(all, sizeof all, "%s%s%s", given == NULL ? "" : given, given == NULL ? "" : ":", options);
  setenv("ARENITE_OPTIONS", all, 1);
  execl("/proc/self/exe", "test", (char*)NULL);
  fail("the test cannot start itself again: errno %d", errno);
}

__attribute__((unused)) static void start_thread(pthread_t* thread, void* (*body)(void*), void* argument) {
  const int error = pthread_create(thread, NULL, body, argument);
  if (error != 0) fail("pthread_create: error %d", error);
}

__attribute__((unused)) static void join_thread(pthread_t thread) {
  const int error = pthread_join(thread, NULL);
  if (error != 0) fail("pthread_join: error %d", error);
}

#endif
