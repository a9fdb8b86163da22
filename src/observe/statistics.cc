#include "observe/statistics.h"

#include "arena/registry.h"
#include "base/text.h"
#include "os/console.h"

namespace arenite {

namespace {

// Figures of one arena in glibc's terms.
struct ArenaSummary {
  explicit ArenaSummary(const ArenaFigures& figures)
      : system(figures.heaps.grown),
        in_use(figures.live_bytes),
        free(system - in_use),
        pieces(figures.free_slots + figures.cached_slots + figures.heaps.free_unit_runs + (figures.heap_count != 0 ? 1U : 0U)),
        top(figures.heaps.top) {}

  std::size_t system;
  std::size_t in_use;
  std::size_t free;
  std::size_t pieces;
  std::size_t top;
};

void add_pair(Text<512>& text, std::size_t system, std::size_t in_use) {
  text.add("system bytes     = ").add_decimal(system, 10).add('\n');
  text.add("in use bytes     = ").add_decimal(in_use, 10).add('\n');
}

void print_sizes(FILE* stream, const char* indent, std::size_t count, std::size_t bytes) {
  fprintf(stream, "%s<total type=\"fast\" count=\"0\" size=\"0\"/>\n", indent);
  fprintf(stream, "%s<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", indent, count, bytes);
}

void print_system(FILE* stream, std::size_t current, std::size_t reserved, std::size_t writable) {
  fprintf(stream, "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n", current, current);
  fprintf(stream, "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n", reserved, writable);
}

}  // namespace

HeapStatistics collect_statistics() {
  HeapStatistics all;
  registry.for_each([&](Arena& arena) {
    const ArenaSummary summary(arena.figures());
    if (all.arenas++ == 0) all.first_arena_top = summary.top;
    all.system_bytes += summary.system;
    all.live_bytes += summary.in_use;
    all.free_bytes += summary.free;
    all.free_pieces += summary.pieces;
  });
  all.mappings = large_mappings.figures();
  return all;
}

void write_statistics(int descriptor) {
  std::size_t system = 0;
  std::size_t in_use = 0;
  registry.for_each([&](Arena& arena) {
    const ArenaSummary summary(arena.figures());
    Text<512> text;
    text.add("Arena ").add_decimal(arena.id().value - 1U).add(":\n");
    add_pair(text, summary.system, summary.in_use);
    os::write_all(descriptor, text.view());
    system += summary.system;
    in_use += summary.in_use;
  });
  const LargeFigures mappings = large_mappings.figures();
  Text<512> text;
  text.add("Total (incl. mmap):\n");
  add_pair(text, system + mappings.bytes, in_use + mappings.bytes);
  text.add("max mmap regions = ").add_decimal(mappings.max_count, 10).add('\n');
  text.add("max mmap bytes   = ").add_decimal(mappings.max_bytes, 10).add('\n');
  os::write_all(descriptor, text.view());
}

void write_heap_information(FILE* stream) {
  std::size_t pieces = 0;
  std::size_t free = 0;
  HeapFigures totals;
  fputs("<malloc version=\"1\">\n", stream);
  registry.for_each([&](Arena& arena) {
    const ArenaFigures figures = arena.figures();
    const ArenaSummary summary(figures);
    fprintf(stream, "<heap nr=\"%u\">\n<sizes>\n</sizes>\n", arena.id().value - 1U);
    print_sizes(stream, "", summary.pieces, summary.free);
    print_system(stream, summary.system, figures.heaps.reserved, figures.heaps.committed);
    fprintf(stream, "<aspace type=\"subheaps\" size=\"%zu\"/>\n</heap>\n", figures.heap_count);
    pieces += summary.pieces;
    free += summary.free;
    totals.grown += summary.system;
    totals.reserved += figures.heaps.reserved;
    totals.committed += figures.heaps.committed;
  });
  const LargeFigures mappings = large_mappings.figures();
  print_sizes(stream, "", pieces, free);
  fprintf(stream, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n", mappings.count, mappings.bytes);
  print_system(stream, totals.grown, totals.reserved, totals.committed);
  fputs("</malloc>\n", stream);
}

}  // namespace arenite
