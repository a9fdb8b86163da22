// For the shared library: the C++ runtime is found among what the process has loaded.
#include "malloc/cxx_runtime.h"

#include "base/attributes.h"
#include "os/console.h"
#include "os/platform.h"
#include "os/symbols.h"

extern "C" {
ARENITE_WEAK std::new_handler _ZSt15get_new_handlerv();  // std::get_new_handler()
ARENITE_WEAK void _ZSt17__throw_bad_allocv();            // std::__throw_bad_alloc()
}

namespace arenite {

namespace {

constexpr char kRuntime[] = "libstdc++.so.6";

// A runtime that was loaded after arenite is found by name, also where it came with a plug-in that keeps it to itself.
template <typename Function>
Function* find_function(Function* at_load, const char* name) {
  if (at_load != nullptr) return at_load;
  void* const global = os::find_symbol(name);
  return reinterpret_cast<Function*>(global != nullptr ? global : os::find_symbol_in(kRuntime, name));
}

// The runtime's own non-throwing operators, behind arenite's: they call operator new and catch.
using NewOrNull = void*(std::size_t, const std::nothrow_t&);
using AlignedNewOrNull = void*(std::size_t, std::align_val_t, const std::nothrow_t&);

template <typename Function>
Function* find_next(const char* name) {
  void* const next = os::find_next_symbol(name);
  return reinterpret_cast<Function*>(next != nullptr ? next : os::find_symbol_in(kRuntime, name));
}

}  // namespace

std::new_handler installed_new_handler() {
  auto* const get = find_function(&_ZSt15get_new_handlerv, "_ZSt15get_new_handlerv");
  return get == nullptr ? nullptr : get();
}

void throw_bad_alloc() {
  if (auto* const raise = find_function(&_ZSt17__throw_bad_allocv, "_ZSt17__throw_bad_allocv")) raise();
  os::write_all(os::kStandardError,
                "arenite: operator new: out of memory, and no C++ runtime to throw std::bad_alloc\n");
  os::abort_process();
}

void* new_or_null(std::size_t size, std::size_t alignment) {
  const std::nothrow_t nothrow{};
  if (alignment > kMinAlignment) {
    auto* const next = find_next<AlignedNewOrNull>("_ZnwmSt11align_val_tRKSt9nothrow_t");
    return next == nullptr ? nullptr : next(size, std::align_val_t{alignment}, nothrow);
  }
  auto* const next = find_next<NewOrNull>("_ZnwmRKSt9nothrow_t");
  return next == nullptr ? nullptr : next(size, nothrow);
}

}  // namespace arenite
