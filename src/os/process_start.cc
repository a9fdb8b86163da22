#include "os/process_start.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>

#include "base/attributes.h"

// glibc's loader leaves the initial stack pointer here: argc, argv…, null, environment…, null, auxiliary vector.
extern "C" ARENITE_WEAK void* __libc_stack_end;  // NOLINT: the name is libc's

namespace arenite::os {

namespace {

constexpr std::size_t kMaxArguments = std::size_t{1} << 24;

using Word = std::uintptr_t;

// Where the environment begins on the initial stack; null if the stack cannot be found.
const Word* initial_environment() {
  if (&__libc_stack_end == nullptr || __libc_stack_end == nullptr) return nullptr;
  const auto* const words = static_cast<const Word*>(__libc_stack_end);
  const std::size_t argument_count = words[0];
  if (argument_count > kMaxArguments || words[1 + argument_count] != 0) return nullptr;
  return words + 1 + argument_count + 1;
}

// The auxiliary vector behind the environment, read here: getauxval would touch pages of libc that nothing else needs.
const Word* auxiliary_vector(const Word* environment) {
  while (*environment != 0) ++environment;
  return environment + 1;
}

Word auxiliary_value(const Word* vector, Word type) {
  if (vector == nullptr) return getauxval(type);
  for (; vector[0] != AT_NULL; vector += 2) {
    if (vector[0] == type) return vector[1];
  }
  return 0;
}

}  // namespace

ProcessStart process_start() {
  const Word* const environment = initial_environment();
  const Word* const vector = environment == nullptr ? nullptr : auxiliary_vector(environment);
  ProcessStart start{.environment = reinterpret_cast<const char* const*>(environment),
                     .page_size = auxiliary_value(vector, AT_PAGESZ),
                     .privileged = auxiliary_value(vector, AT_SECURE) != 0,
                     .random = 0};
  if (start.page_size == 0) start.page_size = 4096;
  if (const auto* const random = reinterpret_cast<const char*>(auxiliary_value(vector, AT_RANDOM)); random != nullptr) {
    // The first eight of the sixteen bytes are libc's stack guard.
    std::memcpy(&start.random, random + 8, sizeof start.random);
  }
  return start;
}

std::string_view find_variable(const char* const* environment, std::string_view name) {
  if (environment == nullptr) return {};
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return {entry.data() + name.size() + 1, entry.size() - name.size() - 1};
    }
  }
  return {};
}

}  // namespace arenite::os
