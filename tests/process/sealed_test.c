// What the library decides at its start is read-only afterwards: a page of its own among its writable data.
// TEST-PRELOAD: no
#include "support.h"

// The bytes of read-only memory between writable pieces of the data of `library`, in a process that runs on it.
static long sealed_bytes(const char* library) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  REQUIRE(maps != NULL);
  char line[1024];
  long sealed = 0;
  unsigned long behind_data = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long start = 0;
    unsigned long end = 0;
    char access[5] = "";
    char path[512] = "";
    REQUIRE(sscanf(line, "%lx-%lx %4s %*s %*s %*s %511s", &start, &end, access, path) >= 3);
    const int is_library = strstr(path, library) != NULL;
    const int follows = start == behind_data && path[0] == '\0';
    if (follows && strcmp(access, "r--p") == 0) sealed += (long)(end - start);
    if ((is_library && strcmp(access, "rw-p") == 0) || follows) behind_data = end;
  }
  fclose(maps);
  return sealed;
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    free(hide(malloc(100)));
    return sealed_bytes("libarenite") == 4096 ? 0 : 1;
  }
  char* const library = getenv("TEST_LIB");
  if (library == NULL) fail("TEST_LIB is not set");
  const pid_t process = fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    setenv("LD_PRELOAD", library, 1);
    execl("/proc/self/exe", "/proc/self/exe", "look", (char*)NULL);
    _exit(3);
  }
  const int status = wait_for(process, 20);
  if (status != 0) fail("no page of the library is sealed: status %d", status);
  return 0;
}
