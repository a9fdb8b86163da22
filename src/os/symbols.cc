#include "os/symbols.h"

#include <dlfcn.h>

namespace arenite::os {

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

void* find_next_symbol(const char* name) { return dlsym(RTLD_NEXT, name); }

void* find_symbol_in(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const symbol = dlsym(handle, name);
  dlclose(handle);
  return symbol;
}

}  // namespace arenite::os
