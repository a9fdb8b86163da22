#include "os/symbols.h"

#include <dlfcn.h>

namespace arenite::os {

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

void* find_next_symbol(const char* name) { return dlsym(RTLD_NEXT, name); }

}  // namespace arenite::os
