// The functions of include/arenite/arenite.h.
#include "arenite/arenite.h"
#include "base/attributes.h"
#include "base/build.h"
#include "base/text.h"
#include "malloc/process.h"
#include "os/console.h"
#include "policy/options.h"

namespace {

// The features by name, joined by '+'; 0 if there is none.
void add_value(arenite::Text<256>& line, const arenite::OptionRow& row, std::size_t value) {
  if (row.type != arenite::OptionType::Features || value == 0) {
    line.add_decimal(value);
    return;
  }
  bool first = true;
  for (std::size_t index = 0; index < std::size(arenite::kFeatures); ++index) {
    if ((value >> index & 1) == 0) continue;
    line.add(first ? "" : "+").add(arenite::kFeatures[index].name);
    first = false;
  }
}

}  // namespace

extern "C" {

ARENITE_EXPORT const char* arenite_version() { return arenite::kVersion; }

ARENITE_EXPORT void arenite_print_options(int fd) {
  arenite::ensure_started();
  for (std::size_t index = 0; index < std::size(arenite::Options::kRows); ++index) {
    const arenite::OptionRow& row = arenite::Options::kRows[index];
    arenite::Text<256> line;
    line.add(row.name).add('=');
    add_value(line, row, arenite::options.get(static_cast<arenite::OptionIndex>(index)));
    line.add("  ").add(row.doc).add('\n');
    arenite::os::write_all(fd, line.view());
  }
}

}  // extern "C"
