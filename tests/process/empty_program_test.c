// An empty program has at most 300 KiB more peak memory with the library than with the C library's own malloc.
// TEST-PRELOAD: no
#include "support.h"

enum { kRuns = 31, kMostKib = 300, kAttempts = 5, kForHardeningKib = 64 };

extern char** environ;

static int compare(const void* a, const void* b) {
  const long first = *(const long*)a;
  const long second = *(const long*)b;
  return (first > second) - (first < second);
}

// The median of several runs: how much of libc the kernel maps around a fault follows the random addresses, by some 150
// KiB.
static long median_peak(char* library) {
  long peaks[kRuns];
  for (int run = 0; run < kRuns; run++) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
      dup2(ends[1], 1);
      if (library != NULL && setenv("LD_PRELOAD", library, 1) != 0) _exit(4);
      char name[] = "/proc/self/exe";
      char report[] = "report";
      char* arguments[] = {name, report, NULL};
      execv(name, arguments);
      _exit(3);
    }
    close(ends[1]);
    char text[64] = "";
    const ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    REQUIRE(wait_for(process, 20) == 0 && length > 0);
    peaks[run] = strtol(text, NULL, 10);
  }
  qsort(peaks, kRuns, sizeof *peaks, compare);
  return peaks[kRuns / 2];
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "report") == 0) {
    free(hide(malloc(100)));
    char text[64];
    const int length = snprintf(text, sizeof text, "%ld", status_kib("VmHWM"));
    return write(1, text, (size_t)length) == length ? 0 : 1;
  }
  char* const library = getenv("TEST_LIB");
  if (library == NULL) fail("TEST_LIB is not set");
  unsetenv("LD_PRELOAD");
  const long most = kMostKib + (is_hardened() ? kForHardeningKib : 0);
  long more = 0;
  // Beside other work even the medians vary: what is too much is so each time.
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    const long without = median_peak(NULL);
    const long with = median_peak(library);
    printf("peak %ld KiB with the library, %ld KiB without\n", with, without);
    more = with - without;
    if (more <= most) return 0;
  }
  fail("an empty program needs %ld KiB more with the library", more);
}
