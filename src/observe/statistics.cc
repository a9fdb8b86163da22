#include "observe/statistics.h"

#include "arena/damage_log.h"
#include "arena/registry.h"
#include "base/text.h"
#include "heap/footprint.h"
#include "os/console.h"
#include "policy/options.h"

namespace arenite {

namespace {

void add_pair(Text<512>& text, std::size_t system, std::size_t in_use) {
  text.add("system bytes     = ").add_decimal(system, 10).add('\n');
  text.add("in use bytes     = ").add_decimal(in_use, 10).add('\n');
}

}  // namespace

ArenaSummary::ArenaSummary(const ArenaFigures& figures)
    : system(figures.heaps.grown),
      most(figures.most_grown),
      in_use(figures.live_bytes),
      free(system - in_use),
      pieces(figures.free_slots + figures.cached_slots + figures.heaps.free_unit_runs + 1),
      top(figures.heaps.top),
      reserved(figures.heaps.reserved),
      writable(figures.heaps.committed),
      heaps(figures.heap_count),
      contained_spans(figures.contained_spans),
      cached(figures.cached_bytes),
      huge_padding(figures.heaps.huge_padding) {}

ArenaSummary& ArenaSummary::operator+=(const ArenaSummary& other) {
  system += other.system;
  most += other.most;
  in_use += other.in_use;
  free += other.free;
  pieces += other.pieces;
  top += other.top;
  reserved += other.reserved;
  writable += other.writable;
  heaps += other.heaps;
  contained_spans += other.contained_spans;
  cached += other.cached;
  huge_padding += other.huge_padding;
  return *this;
}

ProcessStatistics collect_process_statistics() {
  ProcessStatistics statistics{.processors = Registry::processors(),
                               .arenas = registry.count(),
                               .arena_limit = registry.limit(),
                               .damage = damage_log.count(),
                               .footprint = footprint.bytes(),
                               .soft_limit = options.soft_limit(),
                               .hard_limit = options.hard_limit()};
  registry.for_each([&](const Arena& arena) {
    statistics.contained += arena.contained() ? 1 : 0;
    statistics.dropped += arena.dropped();
  });
  return statistics;
}

HeapStatistics collect_statistics() {
  HeapStatistics statistics;
  registry.for_each([&](Arena& arena) {
    const ArenaSummary summary(arena.figures());
    if (arena.id() == ArenaId{1}) statistics.first_arena_top = summary.top;
    statistics.all += summary;
  });
  statistics.mappings = large_mappings.figures();
  return statistics;
}

void write_statistics(int descriptor) {
  ArenaSummary all;
  registry.for_each([&](Arena& arena) {
    const ArenaSummary summary(arena.figures());
    Text<512> text;
    text.add("Arena ").add_decimal(arena.id().value - 1U).add(":\n");
    add_pair(text, summary.system, summary.in_use);
    os::write_all(descriptor, text.view());
    all += summary;
  });
  const LargeFigures mappings = large_mappings.figures();
  Text<512> text;
  text.add("Total (incl. mmap):\n");
  add_pair(text, all.system + mappings.bytes, all.in_use + mappings.bytes);
  text.add("max mmap regions = ").add_decimal(mappings.max_count, 10).add('\n');
  text.add("max mmap bytes   = ").add_decimal(mappings.max_bytes, 10).add('\n');
  os::write_all(descriptor, text.view());
}

}  // namespace arenite
