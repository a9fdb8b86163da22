// Says whether the malloc of this process is arenite's, and which version and options are in force.
// `dev/run --check` runs it preloaded. Exit status: 0 arenite is in use, 1 it is not.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char* file_of(const char* symbol) {
  Dl_info info;
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  return address != NULL && dladdr(address, &info) != 0 ? info.dli_fname : "nowhere";
}

int main(void) {
  const char* (*version)(void) = NULL;
  void (*print_options)(int) = NULL;
  *(void**)&version = dlsym(RTLD_DEFAULT, "arenite_version");
  *(void**)&print_options = dlsym(RTLD_DEFAULT, "arenite_print_options");

  Dl_info malloc_info, version_info;
  if (version == NULL || dladdr(dlsym(RTLD_DEFAULT, "malloc"), &malloc_info) == 0 ||
      dladdr(*(void**)&version, &version_info) == 0 || malloc_info.dli_fbase != version_info.dli_fbase) {
    printf("arenite is NOT in use: malloc comes from %s\n", file_of("malloc"));
    return 1;
  }
  void* const block = malloc(100);
  if (block == NULL) {
    printf("arenite is in use, but malloc(100) failed\n");
    return 1;
  }
  free(block);

  printf("arenite %s is in use: malloc comes from %s\n", version(), malloc_info.dli_fname);
  fflush(stdout);
  if (print_options != NULL) print_options(STDOUT_FILENO);
  return 0;
}
