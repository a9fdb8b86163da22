#include "malloc/foreign.h"

#include "base/relaxed.h"
#include "os/console.h"
#include "os/libc_blocks.h"
#include "policy/options.h"

namespace arenite {

namespace {

// What the option foreign_blocks can ask for.
enum Treatment : std::size_t { kMisuse, kLeave, kHandOn };

void say_once_that_blocks_are_left() {
  static bool said = false;
  if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) return;
  os::write_all(os::kStandardError,
                "arenite: blocks of libc's own malloc are freed by the program and left where they are, as "
                "foreign_blocks=1 asks\n");
}

}  // namespace

bool is_foreign(const void* pointer, const Block& block) {
  return !block.heap.is_heap() && options.foreign_blocks() != kMisuse && os::is_libc_block(pointer);
}

void give_foreign(void* pointer) {
  if (options.foreign_blocks() == kHandOn && os::libc_malloc().free != nullptr) return os::libc_malloc().free(pointer);
  say_once_that_blocks_are_left();
}

std::size_t usable_size_of_foreign(const void* pointer) {
  auto* const usable_size = os::libc_malloc().usable_size;
  return usable_size == nullptr ? 0 : usable_size(const_cast<void*>(pointer));
}

}  // namespace arenite
