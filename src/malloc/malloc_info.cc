// malloc_info: glibc's XML document, version 1, element for element, and at its end an element `arenite` with what
// glibc has no place for. Sizes of single free pieces are not listed: "rest" has them all.
#include <errno.h>

#include "arena/registry.h"
#include "base/build.h"
#include "malloc/exports.h"
#include "observe/statistics.h"
#include "os/errno_keeper.h"

using namespace arenite;

namespace {

void print_free(FILE* stream, const ArenaSummary& summary) {
  fputs("<total type=\"fast\" count=\"0\" size=\"0\"/>\n", stream);
  fprintf(stream, "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", summary.pieces, summary.free);
}

void print_system(FILE* stream, const ArenaSummary& summary) {
  fprintf(stream, "<system type=\"current\" size=\"%zu\"/>\n", summary.system);
  fprintf(stream, "<system type=\"max\" size=\"%zu\"/>\n", summary.most);
  fprintf(stream, "<aspace type=\"total\" size=\"%zu\"/>\n", summary.reserved);
  fprintf(stream, "<aspace type=\"mprotect\" size=\"%zu\"/>\n", summary.writable);
}

void print_arena(FILE* stream, ArenaId id, const ArenaSummary& summary) {
  fprintf(stream, "<heap nr=\"%u\">\n<sizes>\n</sizes>\n", id.value - 1U);
  print_free(stream, summary);
  print_system(stream, summary);
  fprintf(stream, "<aspace type=\"subheaps\" size=\"%zu\"/>\n</heap>\n", summary.heaps);
}

void print_own(FILE* stream, const ArenaSummary& all, const LargeFigures& mappings) {
  const ProcessStatistics process = collect_process_statistics();
  fprintf(stream, "<arenite version=\"%s\">\n<processors count=\"%zu\"/>\n", kVersion, process.processors);
  fprintf(stream, "<arenas count=\"%zu\" limit=\"%zu\" contained=\"%zu\"/>\n", process.arenas, process.arena_limit,
          process.contained);
  fprintf(stream, "<damage found=\"%zu\" contained_spans=\"%zu\" dropped=\"%zu\"/>\n", process.damage,
          all.contained_spans, process.dropped);
  fprintf(stream, "<footprint size=\"%zu\" soft_limit=\"%zu\" hard_limit=\"%zu\"/>\n", process.footprint,
          process.soft_limit, process.hard_limit);
  fprintf(stream, "<cached size=\"%zu\"/>\n", all.cached);
  fprintf(stream, "<huge_pages padding=\"%zu\"/>\n</arenite>\n", all.huge_padding + mappings.huge_padding);
}

}  // namespace

// The error is the result; errno is not touched.
extern "C" int malloc_info(int version, FILE* stream) noexcept {
  if (version != 0) return EINVAL;
  const os::ErrnoKeeper keeper;
  ArenaSummary all;
  fputs("<malloc version=\"1\">\n", stream);
  // No lock is held while the stream is written, since that may allocate.
  registry.for_each([&](Arena& arena) {
    const ArenaSummary summary(arena.figures());
    print_arena(stream, arena.id(), summary);
    all += summary;
  });
  const LargeFigures mappings = large_mappings.figures();
  print_free(stream, all);
  fprintf(stream, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n", mappings.count, mappings.bytes);
  print_system(stream, all);
  print_own(stream, all, mappings);
  fputs("</malloc>\n", stream);
  return 0;
}
