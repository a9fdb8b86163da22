// Options count from the first call on, whatever that call is: a bad free, mallopt, a large request. Each in a process
// of its own, since only one call can be the first.
#include "support.h"

static int run(char* program, char* what, const char* variable, const char* value) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    REQUIRE(setenv(variable, value, 1) == 0);
    char* arguments[] = {program, what, NULL};
    execv("/proc/self/exe", arguments);
    _exit(9);
  }
  return wait_for(child, 20);
}

// Before anything else in the process has used the heap: stdio has not, and the loader frees nothing.
static int first_call(const char* what) {
  static char no_block[64];
  if (strcmp(what, "free") == 0) {
    const int null = open("/dev/null", O_WRONLY);
    REQUIRE(dup2(null, 2) == 2);
    free(hide(no_block + 16));
    return 0;  // goes on, as the option says
  }
  if (strcmp(what, "mallopt") == 0) {
    // Set here, the threshold is fixed; the variable, read later, would make it small.
    REQUIRE(mallopt(M_MMAP_THRESHOLD, 8 << 20) == 1);
  }
  free(hide(malloc(100)));
  const size_t before = mallinfo2().hblks;
  void* const block = malloc(1 << 20);
  const size_t after = mallinfo2().hblks;
  free(block);
  return after - before == (strcmp(what, "mallopt") == 0 ? 0 : 1) ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc > 1) return first_call(argv[1]);
  if (run(argv[0], (char*)"free", "ARENITE_OPTIONS", "check_action=0") != 0)
    fail("check_action came too late for free");
  if (run(argv[0], (char*)"mallopt", "MALLOC_MMAP_THRESHOLD_", "1000") != 0) fail("the environment came after mallopt");
  if (run(argv[0], (char*)"request", "MALLOC_MMAP_THRESHOLD_", "1000") != 0) fail("a variable has no effect");
  return 0;
}
