#include "malloc/sampling.h"

#include "heap/heap_table.h"
#include "heap/sampled_slots.h"
#include "malloc/process.h"
#include "malloc/report.h"
#include "os/backtrace.h"
#include "os/thread.h"
#include "policy/options.h"

namespace arenite {

namespace {

CallRecord calls_so_far() {
  CallRecord record;
  record.thread = os::thread_number();
  record.count = static_cast<std::uint32_t>(os::backtrace(record.calls, CallRecord::kMost));
  return record;
}

// Faults elsewhere are the program's own affair.
void on_fault(const os::Fault& fault) {
  const void* const address = pointer_at(fault.address);
  if (sampled_slots.contains(address) || lookup_heap(address).is_heap()) report_fault(fault);
}

}  // namespace

void open_sampled_slots() {
  if (Options::hardened(Feature::sampled) && sampled_slots.open()) os::install_fault_handler(on_fault);
}

void* take_sampled(std::size_t size, std::size_t alignment, BlockOrigin origin) {
  if (!Options::hardened(Feature::sampled) || !ready_cache().is_sample_due()) return nullptr;
  return sampled_slots.take(size, alignment, origin, calls_so_far());
}

bool give_sampled(void* pointer) { return sampled_slots.give(pointer, calls_so_far()); }

}  // namespace arenite
