// What the benchmark programs share, for C and C++. Nothing in here allocates, so the figures are those of the program.
// A program includes this only: it asks for the GNU names.
#ifndef ARENITE_BENCH_BENCH_H
#define ARENITE_BENCH_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BENCH_UNUSED __attribute__((unused)) static
#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)
#define PAGE ((size_t)4096)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

__attribute__((unused, noreturn, format(printf, 1, 2))) static void fail(const char* format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof line, format, values);
  va_end(values);
  dprintf(2, "%s\n", line);
  _exit(1);
}

#define REQUIRE(condition)                                                                           \
  do {                                                                                               \
    if (!(condition)) fail("%s:%d: not true: %s (errno %d)", __FILE__, __LINE__, #condition, errno); \
  } while (0)

// Prints the figures: one line of JSON, without stdout's buffer, which would come from malloc.
__attribute__((unused, format(printf, 1, 2))) static void report(const char* format, ...) {
  char line[2048];
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(line, sizeof line - 1, format, values);
  va_end(values);
  REQUIRE(length > 0 && (size_t)length < sizeof line - 1);
  line[length] = '\n';
  REQUIRE(write(1, line, (size_t)length + 1) == length + 1);
}

// --- arguments
// --------------------------------------------------------------------------------------------------------

// A number that the command line may change: NAME=NUMBER.
struct argument {
  const char* name;
  size_t* value;
};

BENCH_UNUSED void set_argument(const char* text, const struct argument* arguments, size_t count) {
  const char* const equals = strchr(text, '=');
  for (size_t i = 0; equals != NULL && i < count; i++) {
    const size_t length = strlen(arguments[i].name);
    if ((size_t)(equals - text) != length || strncmp(text, arguments[i].name, length) != 0) continue;
    char* end = NULL;
    *arguments[i].value = strtoul(equals + 1, &end, 10);
    if (end == equals + 1 || *end != 0) fail("%s: the value is not a number", text);
    return;
  }
  dprintf(2, "%s: unknown argument; there are", text);
  for (size_t i = 0; i < count; i++) dprintf(2, " %s=%zu", arguments[i].name, *arguments[i].value);
  fail(" ");
}

BENCH_UNUSED void read_arguments(int argc, char** argv, const struct argument* arguments, size_t count) {
  for (int i = 1; i < argc; i++) set_argument(argv[i], arguments, count);
}

// --- random numbers
// ---------------------------------------------------------------------------------------------------

BENCH_UNUSED uint64_t next_random(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

BENCH_UNUSED size_t random_between(uint64_t* random, size_t least, size_t most) {
  return least + next_random(random) % (most - least + 1);
}

// From `least` to just below `least` times 2 to the `doublings`, each doubling as often as any other.
BENCH_UNUSED size_t random_doubling(uint64_t* random, size_t least, unsigned doublings) {
  const size_t base = least << next_random(random) % doublings;
  return base + next_random(random) % base;
}

// --- time
// -------------------------------------------------------------------------------------------------------------

BENCH_UNUSED double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

BENCH_UNUSED void sleep_until(double end) {
  for (double left; (left = end - seconds_now()) > 0;) {
    const struct timespec time = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    nanosleep(&time, NULL);
  }
}

BENCH_UNUSED void sleep_seconds(double seconds) { sleep_until(seconds_now() + seconds); }

// What the process has used so far.
struct usage {
  double user;
  double system;
  long minor_faults;
};

BENCH_UNUSED struct usage usage_now(void) {
  struct rusage now;
  getrusage(RUSAGE_SELF, &now);
  const struct usage usage = {(double)now.ru_utime.tv_sec + (double)now.ru_utime.tv_usec * 1e-6,
                              (double)now.ru_stime.tv_sec + (double)now.ru_stime.tv_usec * 1e-6, now.ru_minflt};
  return usage;
}

BENCH_UNUSED struct usage usage_since(struct usage start) {
  struct usage usage = usage_now();
  usage.user -= start.user;
  usage.system -= start.system;
  usage.minor_faults -= start.minor_faults;
  return usage;
}

// --- memory
// -----------------------------------------------------------------------------------------------------------

// The first bytes of a file of /proc/self, with a zero behind them.
BENCH_UNUSED void read_start(const char* name, char* text, size_t size) {
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("%s cannot be opened", name);
  const ssize_t length = read(fd, text, size - 1);
  close(fd);
  text[length < 0 ? 0 : length] = 0;
}

BENCH_UNUSED long resident_kib(void) {
  char text[128];
  read_start("/proc/self/statm", text, sizeof text);
  const char* const second = strchr(text, ' ');
  REQUIRE(second != NULL);
  return strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

// A field in KiB of a file of /proc/self; -1 where there is none of that name.
BENCH_UNUSED long field_kib(const char* file, const char* field) {
  char text[8192];
  read_start(file, text, sizeof text);
  const char* const found = strstr(text, field);
  return found == NULL ? -1 : strtol(found + strlen(field), NULL, 10);
}

BENCH_UNUSED long peak_kib(void) { return field_kib("/proc/self/status", "VmHWM:"); }

// Pages that are free to the system but stay resident until it needs them (MADV_FREE).
BENCH_UNUSED long lazily_freed_kib(void) { return field_kib("/proc/self/smaps_rollup", "LazyFree:"); }

BENCH_UNUSED long mapping_count(void) {
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

// Memory for the program's own books: beside the allocator, and zero.
BENCH_UNUSED void* map_memory(size_t bytes, int more_flags) {
  void* const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  if (memory == MAP_FAILED) fail("%zu bytes cannot be mapped", bytes);
  return memory;
}

BENCH_UNUSED void* allocate(size_t size) {
  void* const block = malloc(size);
  if (block == NULL && size != 0) fail("malloc(%zu) gives null", size);
  return block;
}

BENCH_UNUSED void* allocate_and_fill(size_t size) {
  void* const block = allocate(size);
  memset(block, 1, size);
  return block;
}

// Writes one byte of each page.
BENCH_UNUSED void touch(void* block, size_t size) {
  for (size_t i = 0; i < size; i += PAGE) ((volatile char*)block)[i] = 1;
}

// --- threads
// ----------------------------------------------------------------------------------------------------------

BENCH_UNUSED void start_thread(pthread_t* thread, void* (*body)(void*), void* argument) {
  const int error = pthread_create(thread, NULL, body, argument);
  if (error != 0) fail("pthread_create: error %d", error);
}

BENCH_UNUSED void join_thread(pthread_t thread) {
  const int error = pthread_join(thread, NULL);
  if (error != 0) fail("pthread_join: error %d", error);
}

#endif
