#include "fake/process.h"

#include <new>

#include "arena/damage_log.h"
#include "arena/registry.h"
#include "cache/thread_cache.h"
#include "fake/clock.h"
#include "fake/file.h"
#include "fake/memory.h"
#include "heap/footprint.h"
#include "heap/heap_table.h"
#include "heap/huge_use.h"
#include "heap/large_mappings.h"
#include "heap/sampled_slots.h"
#include "heap/span_guard.h"
#include "policy/options.h"

namespace arenite::fake {

namespace {

// Long enough for what has been read from files to be read again.
constexpr std::uint64_t kLater = 10'000'000;

template <typename T>
void make_new(T* object) {
  static_assert(__has_trivial_destructor(T));
  new (object) T();
}

void clear_heap_table(std::uintptr_t start, std::uintptr_t end) {
  for (std::uintptr_t index = start >> kPlatform.heap_bits; index <= (end - 1) >> kPlatform.heap_bits; ++index) {
    heap_table[index] = 0;
  }
}

}  // namespace

void FreshProcess::renew() {
  forget_files();
  advance_clock(kLater);
  forget_everything(clear_heap_table);
  sealed.hardening = 0;
  sealed.link_secret = 0x5bd1e995a7c3d960;
  arenas_made = 0;
  arenas_slack = 0;
  mapped_span_guards = 0;
  make_new(&damage_log);
  make_new(&options);
  make_new(&footprint);
  make_new(&huge_page_sizes);
  make_new(&registry);
  make_new(&store_pool);
  make_new(&large_mappings);
  make_new(&sampled_slots);
  make_new(&current_cache);
}

}  // namespace arenite::fake
