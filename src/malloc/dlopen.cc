// dlopen, in front of libc's. In the shared library only: it is there for plug-ins that are loaded with RTLD_DEEPBIND,
// and a program that has arenite linked into it is searched before them.
#include "base/attributes.h"
#include "base/relaxed.h"
#include "malloc/exports.h"
#include "os/libc_blocks.h"
#include "os/libc_symbols.h"
#include "os/symbols.h"

namespace arenite {

namespace {

using Open = void*(const char*, int);

// Before the first such plug-in is loaded.
ARENITE_NOINLINE void prepare_for_deep_binding() {
  static bool done = false;
  if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED)) return;
  os::libc_malloc();  // as it is without that
  os::redirect_libc_malloc();
}

ARENITE_NOINLINE Open* next_dlopen() {
  static Open* next = nullptr;  // relaxed: every thread finds the same
  if (relaxed_load(&next) == nullptr) relaxed_store(&next, reinterpret_cast<Open*>(os::find_next_symbol("dlopen")));
  return relaxed_load(&next);
}

}  // namespace

}  // namespace arenite

// The call at the end is a jump: libc's function searches where the library lies that its return address is in.
extern "C" void* dlopen(const char* file, int mode) noexcept {
  using namespace arenite;
  if (os::binds_deep(mode)) prepare_for_deep_binding();
  Open* const next = next_dlopen();
  return next == nullptr ? nullptr : next(file, mode);
}
