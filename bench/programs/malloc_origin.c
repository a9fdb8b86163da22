// Not a benchmark: prints which file the program's malloc comes from. The loader leaves out a library that it cannot
// preload with no more than a warning, and figures of glibc's malloc would then go under another name.
//
// Prints: library, a path.
#include "bench.h"

int main(void) {
  Dl_info info;
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0);
  report("{\"library\": \"%s\"}", info.dli_fname);
  return 0;
}
