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

const char* const* initial_environment() {
  if (&__libc_stack_end == nullptr || __libc_stack_end == nullptr) return nullptr;
  const auto* const words = static_cast<const std::uintptr_t*>(__libc_stack_end);
  const std::size_t argument_count = words[0];
  if (argument_count > kMaxArguments || words[1 + argument_count] != 0) return nullptr;
  return reinterpret_cast<const char* const*>(words + 1 + argument_count + 1);
}

}  // namespace

ProcessStart process_start() {
  ProcessStart start{.environment = initial_environment(),
                     .page_size = getauxval(AT_PAGESZ),
                     .privileged = getauxval(AT_SECURE) != 0,
                     .random = 0};
  if (start.page_size == 0) start.page_size = 4096;
  if (const auto* const random = reinterpret_cast<const char*>(getauxval(AT_RANDOM)); random != nullptr) {
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
