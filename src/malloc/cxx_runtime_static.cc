// For the static library: a program that uses operator new links the C++ runtime. The one file compiled with
// exceptions.
#include "malloc/cxx_runtime.h"
#include "os/platform.h"

namespace std {
[[noreturn]] void __throw_bad_alloc();  // NOLINT: the name is the runtime's
}

namespace arenite {

std::new_handler installed_new_handler() { return std::get_new_handler(); }

void throw_bad_alloc() { std::__throw_bad_alloc(); }

void* new_or_null(std::size_t size, std::size_t alignment) {
  try {
    return alignment > kMinAlignment ? ::operator new (size, std::align_val_t{alignment}) : ::operator new(size);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace arenite
