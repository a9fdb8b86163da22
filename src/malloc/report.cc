#include "malloc/report.h"

#include "arena/damage_log.h"
#include "base/text.h"
#include "heap/sampled_slots.h"
#include "observe/describe.h"
#include "os/abort_message.h"
#include "os/backtrace.h"
#include "os/clock.h"
#include "os/console.h"
#include "os/errno_keeper.h"
#include "os/memory_map.h"
#include "os/thread.h"
#include "policy/options.h"

namespace arenite {

namespace {

using Message = Text<512>;

// What the option `report` asks for; each contains those before it.
enum class Detail : std::size_t { kFirstLine, kDescription, kBacktrace, kMemoryMap };

// Of the calling thread.
thread_local constinit bool is_reporting ARENITE_INITIAL_EXEC = false;

// The thread whose report is being written, so that reports do not mix. One that does not end, as that of a thread
// which fork left behind, is waited for only so long.
std::uint32_t writing_thread = 0;

class Turn {
 public:
  Turn() {
    constexpr int kMostNaps = 100;
    constexpr std::uint32_t kNapMicroseconds = 1000;
    for (int naps = 0; !taken_ && naps < kMostNaps; ++naps) {
      std::uint32_t nobody = 0;
      taken_ = __atomic_compare_exchange_n(&writing_thread, &nobody, os::thread_number(), false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED);
      if (!taken_) os::nap(kNapMicroseconds);
    }
  }
  ~Turn() {
    if (taken_) __atomic_store_n(&writing_thread, 0U, __ATOMIC_RELEASE);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  bool taken_ = false;
};

// "  0x401234 /usr/bin/program+0x1234": the offset is that in the file, as addr2line takes it for such objects.
void write_call(std::uintptr_t return_address, const os::Mapping& mapping) {
  Message line;
  line.add("arenite:   ").add_hex(return_address).add(' ').add(mapping.name_view());
  line.add('+').add_hex(return_address - mapping.start + mapping.file_offset).add('\n');
  os::write_all(os::kStandardError, line.view());
}

// How many of the calls are arenite's own; none, if all seem to be, since then it is part of the program.
std::size_t own_calls(const std::uintptr_t* calls, std::size_t count) {
  os::Mapping own;
  if (!os::find_mapping(reinterpret_cast<std::uintptr_t>(&own_calls), &own)) return 0;
  std::size_t index = 0;
  while (index < count && calls[index] >= own.start && calls[index] < own.end) ++index;
  return index == count ? 0 : index;
}

// An address that is not in code ends the list: the stack was not what it seemed.
void write_calls(const std::uintptr_t* calls, std::size_t count) {
  for (std::size_t index = own_calls(calls, count); index < count; ++index) {
    os::Mapping mapping;
    if (!os::find_mapping(calls[index], &mapping) || !mapping.executable) break;
    write_call(calls[index], mapping);
  }
}

// Where a fault has led here, its own calls: those of the handler say nothing.
void write_backtrace(const os::Fault* fault) {
  constexpr std::size_t kMostCalls = 32;
  std::uintptr_t calls[kMostCalls];
  std::size_t count = 0;
  if (fault != nullptr) {
    calls[0] = fault->instruction;
    count = 1 + os::backtrace_from(pointer_at(fault->frame), calls + 1, kMostCalls - 1);
  } else {
    const bool by_libc = options.backtrace() != 0;
    count = by_libc ? os::backtrace_by_libc(calls, kMostCalls) : os::backtrace(calls, kMostCalls);
  }
  os::write_all(os::kStandardError, "arenite: called from, the innermost first:\n");
  write_calls(calls, count);
}

void write_record(std::string_view what, const CallRecord& record) {
  Message line;
  line.add("arenite: ").add(what).add(" by thread ").add_decimal(record.thread);
  line.add(", called from, the innermost first:\n");
  os::write_all(os::kStandardError, line.view());
  write_calls(record.calls, record.count < CallRecord::kMost ? record.count : CallRecord::kMost);
}

// Of a sampled block it is known who has taken and who has given it.
void write_history(const void* pointer) {
  if (!sampled_slots.contains(pointer)) return;
  const SampledBlock& block = sampled_slots.around(pointer);
  if (block.state == SampledBlock::State::kNone) return;
  write_record("allocated", block.taken);
  if (block.state == SampledBlock::State::kFreed) write_record("freed", block.given);
}

struct Cause {
  std::string_view first_line;
  const void* pointer;
  const os::Fault* fault = nullptr;  // that has led to the report
};

// In one write as far as it is one line or two, so that it stays together.
template <typename AddDescription>
void write_report(const Cause& cause, AddDescription add_description, const CheckAction& action) {
  const auto detail = static_cast<Detail>(action.brief ? 0 : options.report());
  Message message;
  message.add(cause.first_line).add('\n');
  if (detail >= Detail::kDescription) {
    message.add("arenite: ");
    add_description(message);
    message.add(", thread ").add_decimal(os::thread_number()).add('\n');
  }
  const Turn turn;
  os::write_all(os::kStandardError, message.view());
  if (detail >= Detail::kBacktrace) {
    write_backtrace(cause.fault);
    write_history(cause.pointer);
  }
  if (detail >= Detail::kMemoryMap) os::write_memory_map(os::kStandardError);
  if (action.abort) os::leave_abort_message(message.view());
}

// A fault inside of a report, or in the handler of the signal that it ends with, ends the process at once.
template <typename AddDescription>
void report(const Cause& cause, AddDescription add_description) {
  const os::ErrnoKeeper keeper;
  CheckAction action = check_action_from(options.check_action());
  if (cause.fault != nullptr) action.abort = false;  // the process ends by the fault itself
  if (is_reporting) {
    if (action.print) os::write_all(os::kStandardError, "arenite: misuse inside of a report\n");
    os::end_process();
  }
  is_reporting = true;
  if (action.print) write_report(cause, add_description, action);
  if (action.abort) os::abort_process();
  is_reporting = false;
}

}  // namespace

Misuse classify_bad_free(const Block& nothing) {
  if (nothing.freed || nothing.byte.is_cached_or_stocked()) return Misuse::kDoubleFreeCached;
  if (nothing.byte.is_free()) return Misuse::kDoubleFree;
  return Misuse::kInvalidFree;
}

void report_misuse(Misuse kind, const void* pointer) {
  report({misuse_text(kind), pointer}, [&](Message& message) {
    Description description;
    describe(pointer, &description);
    message.add_hex(address_of(pointer)).add(": ").add(description.view()).add(misuse_note(kind));
  });
}

void report_fault(const os::Fault& fault) {
  const void* const address = pointer_at(fault.address);
  const bool is_freed =
      sampled_slots.contains(address) && sampled_slots.around(address).state == SampledBlock::State::kFreed;
  const std::string_view first_line =
      is_freed ? "memory was used after it had been freed" : "memory was used outside of a block";
  report({first_line, address, &fault}, [&](Message& message) {
    Description description;
    describe(address, &description);
    message.add_hex(fault.address).add(": ").add(description.view());
  });
}

void report_found_damage() {
  FoundDamage found;
  if (!damage_log.take(&found)) return;
  report({damage_text(found.kind), found.where}, [&](Message& message) {
    message.add_hex(address_of(found.where)).add(": found damaged: ").add(damaged_thing(found.kind));
    if (found.arena.value != 0) message.add(" of arena ").add_decimal(found.arena.value);
    message.add(found.whole_arena ? "; the arena takes no further part" : "; it takes no further part");
  });
}

}  // namespace arenite
