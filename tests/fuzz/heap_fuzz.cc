// State test of everything below the exported functions: an input is decoded into operations of three threads' caches
// on slots, runs and large mappings, with system calls that fail, and each is compared with a model and followed by the
// checks of all invariants. With FUZZ_VERBOSE set each operation is printed before it is done; a failed check prints
// all of them.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "arena/registry.h"
#include "cache/thread_cache.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/block.h"
#include "heap/large_mappings.h"
#include "policy/options.h"

namespace arenite {
namespace {

constexpr std::size_t kThreads = 3;
constexpr std::size_t kMostOperations = 100;
constexpr std::size_t kMostLiveBytes = 8_MiB;

// The input, a few bytes at a time; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::size_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::size_t word() {
    const std::size_t low = byte();
    return low | byte() << 8;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

struct LiveBlock {
  BlockKind kind;
  std::size_t bytes;  // that the program may use
  std::uint8_t fill;
  ArenaId owner;  // of slots and runs
};

struct State;

// The operations. Each prints itself and does itself.
struct TakeSlot {
  std::size_t thread, size, alignment;
  std::string text() const;
  void run(State& state) const;
};
struct GiveSlot {
  std::size_t thread, pick;
  std::string text() const;
  void run(State& state) const;
};
struct GiveAgain {
  std::size_t thread, pick;
  std::string text() const;
  void run(State& state) const;
};
struct TakeRun {
  std::size_t thread, units, alignment;
  bool may_grow;
  std::string text() const;
  void run(State& state) const;
};
struct GiveRun {
  std::size_t pick;
  std::string text() const;
  void run(State& state) const;
};
struct ResizeRun {
  std::size_t pick, units;
  std::string text() const;
  void run(State& state) const;
};
struct TakeMapping {
  std::size_t bytes, alignment;
  std::string text() const;
  void run(State& state) const;
};
struct GiveMapping {
  std::size_t pick;
  std::string text() const;
  void run(State& state) const;
};
struct ResizeMapping {
  std::size_t pick, bytes;
  std::string text() const;
  void run(State& state) const;
};
struct LookInside {
  std::size_t pick, offset;
  std::string text() const;
  void run(State& state) const;
};
struct Flush {
  std::size_t thread;
  std::string text() const;
  void run(State& state) const;
};
struct Trim {
  std::size_t pad;
  std::string text() const;
  void run(State& state) const;
};
struct ReleaseReservations {
  std::string text() const;
  void run(State& state) const;
};
struct EndThread {
  std::size_t thread;
  bool cached;  // the thread that comes after
  std::string text() const;
  void run(State& state) const;
};
struct FailCall {
  std::size_t n;
  std::string text() const;
  void run(State& state) const;
};
struct Contain {
  std::size_t pick;
  std::string text() const;
  void run(State& state) const;
};

using Operation =
    std::variant<TakeSlot, GiveSlot, GiveAgain, TakeRun, GiveRun, ResizeRun, TakeMapping, GiveMapping, ResizeMapping,
                 LookInside, Flush, Trim, ReleaseReservations, EndThread, FailCall, Contain>;

std::string text_of(const Operation& operation) {
  return std::visit([](const auto& each) { return each.text(); }, operation);
}

std::vector<Operation>& done() {
  static auto& operations = *new std::vector<Operation>;
  return operations;
}

void require(bool condition, int line = __builtin_LINE()) {
  if (condition) return;
  for (const Operation& operation : done()) std::fprintf(stderr, "  %s\n", text_of(operation).c_str());
  std::fprintf(stderr, "heap_fuzz.cc:%d: does not hold after these operations\n", line);
  std::abort();
}

std::string say(const char* name, std::initializer_list<std::pair<const char*, std::size_t>> values) {
  std::string text = name;
  for (const auto& [key, value] : values) text += std::string(" ") + key + "=" + std::to_string(value);
  return text;
}

struct State {
  State() {
    for (ThreadCache& thread : threads) thread.attach(true);
  }

  char* pick(BlockKind kind, std::size_t number) {
    std::vector<char*> fitting;
    for (const auto& [place, block] : live) {
      if (block.kind == kind || kind == BlockKind::kNone) fitting.push_back(place);
    }
    return fitting.empty() ? nullptr : fitting[number % fitting.size()];
  }

  bool has_room(std::size_t bytes) const { return live_bytes + bytes <= kMostLiveBytes; }

  void enter(void* pointer, BlockKind kind, std::size_t bytes, bool zeroed) {
    auto* const place = static_cast<char*>(pointer);
    const Block found = find_block(place);
    require(found.kind == kind && found.bytes == bytes);
    const auto next = live.lower_bound(place);
    require(next == live.end() || place + bytes <= next->first);
    require(next == live.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= place);
    if (zeroed) require_zero(place, bytes);
    last_fill = static_cast<std::uint8_t>(last_fill % 255 + 1);
    live[place] = {kind, bytes, last_fill, found.heap.arena()};
    live_bytes += bytes;
    given.erase(place);
    fill(place);
  }

  LiveBlock leave(char* place) {
    require_content(place);
    const LiveBlock block = live.at(place);
    live_bytes -= block.bytes;
    live.erase(place);
    if (block.kind != BlockKind::kMapping && !is_contained(block)) given.insert(place);
    return block;
  }

  // What has been freed, is not live again and has not become part of something else.
  char* pick_given(std::size_t number) {
    if (given.empty()) return nullptr;
    auto place = given.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(number % given.size()));
    return *place;
  }

  // The start, the end and each page between are written and compared.
  void fill(char* place) {
    const LiveBlock& block = live.at(place);
    for (std::size_t at = 0; at < block.bytes; at += 4096) place[at] = static_cast<char>(block.fill);
    place[block.bytes - 1] = static_cast<char>(block.fill);
  }
  void require_content(const char* place) const {
    const LiveBlock& block = live.at(const_cast<char*>(place));
    for (std::size_t at = 0; at < block.bytes; at += 4096) require(place[at] == static_cast<char>(block.fill));
    require(place[block.bytes - 1] == static_cast<char>(block.fill));
  }
  // Where fill() writes.
  static void require_zero(const char* place, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 4096) require(place[at] == 0);
    require(place[bytes - 1] == 0);
  }

  static bool is_contained(const LiveBlock& block) {
    return block.kind != BlockKind::kMapping && registry.find(block.owner)->contained();
  }

  // A refusal by the system excuses a request that failed.
  void require_refused() const { require(failing || contained_one); }

  void check() {
    registry.check_invariants();
    std::size_t slots = 0;
    std::size_t bytes = 0;
    registry.for_each([&](Arena& arena) {
      if (arena.contained()) return;
      arena.check_invariants();
      const ArenaFigures figures = arena.figures();
      slots += figures.live_slots;
      bytes += figures.live_bytes;
    });
    std::size_t mappings = 0;
    for (const auto& [place, block] : live) {
      require_content(place);
      const Block found = find_block(place);
      require(found.kind == block.kind && found.bytes == block.bytes);
      if (block.kind == BlockKind::kMapping) {
        ++mappings;
      } else if (!is_contained(block)) {
        if (block.kind == BlockKind::kSlot) --slots;
        bytes -= block.bytes;
      }
    }
    require(slots == 0);
    require(bytes == 0);
    require(large_mappings.figures().count == mappings);
  }

  ThreadCache threads[kThreads];
  std::map<char*, LiveBlock> live;
  std::set<char*> given;
  std::size_t live_bytes = 0;
  std::uint8_t last_fill = 0;
  bool failing = false;  // a system call may have been refused since the last operation that cleared it
  bool contained_one = false;
};

std::string TakeSlot::text() const {
  return say("take slot", {{"thread", thread}, {"size", size}, {"alignment", alignment}});
}
void TakeSlot::run(State& state) const {
  const ClassIndex cls = class_for_aligned(size, alignment);
  if (cls.value == 0 || !state.has_room(size)) return;
  ThreadCache& cache = state.threads[thread];
  void* slot = cache.take(cls.value, granule_bits(size_class(cls).kind));
  if (slot == nullptr) slot = cache.take_slow(cls);
  if (slot == nullptr) return state.require_refused();
  require(is_aligned(address_of(slot), alignment));
  state.enter(slot, BlockKind::kSlot, size_class(cls).slot_size, false);
}

std::string GiveSlot::text() const { return say("give slot", {{"thread", thread}, {"pick", pick}}); }
void GiveSlot::run(State& state) const {
  char* const slot = state.pick(BlockKind::kSlot, pick);
  if (slot == nullptr) return;
  state.leave(slot);
  ThreadCache& cache = state.threads[thread];
  if (cache.give(slot)) {
    require(!cache.give(slot));
    return;
  }
  const Block block = find_block(slot);
  require(block.kind == BlockKind::kSlot);
  require(cache.give_slow(slot, block.byte.cls(), block.heap.arena()) == nullptr);
}

std::string GiveAgain::text() const { return say("give again", {{"thread", thread}, {"pick", pick}}); }
void GiveAgain::run(State& state) const {
  char* const place = state.pick_given(pick);
  if (place == nullptr) return;
  for (ThreadCache& cache : state.threads) require(!cache.give(place));
  require(find_block(place).kind == BlockKind::kNone);
}

std::string TakeRun::text() const {
  return say("take run",
             {{"thread", thread}, {"units", units}, {"alignment", alignment}, {"may_grow", may_grow ? 1U : 0U}});
}
void TakeRun::run(State& state) const {
  if (!state.has_room(units * kUnitSize)) return;
  const TakenRun taken = state.threads[thread].take_run({static_cast<std::uint32_t>(units)},
                                                        {static_cast<std::uint32_t>(alignment)}, may_grow);
  if (taken.pointer == nullptr) {
    if (may_grow) state.require_refused();
    return;
  }
  require(is_aligned(address_of(taken.pointer), alignment * kUnitSize));
  state.enter(taken.pointer, BlockKind::kRun, units * kUnitSize, taken.zeroed);
}

std::string GiveRun::text() const { return say("give run", {{"pick", pick}}); }
void GiveRun::run(State& state) const {
  char* const place = state.pick(BlockKind::kRun, pick);
  if (place == nullptr) return;
  const LiveBlock block = state.leave(place);
  Arena& arena = *registry.find(block.owner);
  require(arena.give_run(place));
  require(arena.contained() || !arena.give_run(place));
}

std::string ResizeRun::text() const { return say("resize run", {{"pick", pick}, {"units", units}}); }
void ResizeRun::run(State& state) const {
  char* const place = state.pick(BlockKind::kRun, pick);
  if (place == nullptr) return;
  LiveBlock& block = state.live.at(place);
  state.require_content(place);
  Arena& arena = *registry.find(block.owner);
  const std::size_t new_bytes = units * kUnitSize;
  if (new_bytes > block.bytes && !state.has_room(new_bytes - block.bytes)) return;
  if (!arena.resize_run(place, {static_cast<std::uint32_t>(units)})) {
    require(new_bytes > block.bytes || arena.contained());
    return;
  }
  state.live_bytes += new_bytes - block.bytes;
  block.bytes = new_bytes;
  require(place[0] == static_cast<char>(block.fill));
  state.fill(place);
  for (auto given = state.given.lower_bound(place); given != state.given.end() && *given < place + new_bytes;) {
    given = state.given.erase(given);
  }
}

std::string TakeMapping::text() const { return say("take mapping", {{"bytes", bytes}, {"alignment", alignment}}); }
void TakeMapping::run(State& state) const {
  if (!state.has_room(bytes)) return;
  void* const mapping = large_mappings.take(bytes, alignment);
  if (mapping == nullptr) return require(state.failing);
  require(is_aligned(address_of(mapping), alignment));
  const std::size_t length = large_mappings.find(mapping).bytes;
  require(length >= bytes && length != 0);
  state.enter(mapping, BlockKind::kMapping, length, true);
}

std::string GiveMapping::text() const { return say("give mapping", {{"pick", pick}}); }
void GiveMapping::run(State& state) const {
  char* const place = state.pick(BlockKind::kMapping, pick);
  if (place == nullptr) return;
  const LiveBlock block = state.leave(place);
  require(large_mappings.give(place) == block.bytes);
  require(large_mappings.give(place) == 0);
}

std::string ResizeMapping::text() const { return say("resize mapping", {{"pick", pick}, {"bytes", bytes}}); }
void ResizeMapping::run(State& state) const {
  char* const place = state.pick(BlockKind::kMapping, pick);
  if (place == nullptr || !state.has_room(bytes)) return;
  const LiveBlock old_block = state.live.at(place);
  state.require_content(place);
  auto* const moved = static_cast<char*>(large_mappings.resize(place, bytes));
  if (moved == nullptr) return require(state.failing);
  const std::size_t length = large_mappings.find(moved).bytes;
  require(length >= bytes);
  require(moved[0] == static_cast<char>(old_block.fill));
  if (length > old_block.bytes) State::require_zero(moved + old_block.bytes, length - old_block.bytes);
  state.live.erase(place);
  state.live_bytes -= old_block.bytes;
  state.enter(moved, BlockKind::kMapping, length, false);
}

std::string LookInside::text() const { return say("look inside", {{"pick", pick}, {"offset", offset}}); }
void LookInside::run(State& state) const {
  char* const place = state.pick(BlockKind::kNone, pick);
  if (place == nullptr) return;
  const std::size_t inside = 1 + offset % state.live.at(place).bytes;
  if (inside == state.live.at(place).bytes) return;
  require(find_block(place + inside).kind == BlockKind::kNone);
  for (ThreadCache& cache : state.threads) require(!cache.give(place + inside));
}

std::string Flush::text() const { return say("flush", {{"thread", thread}}); }
void Flush::run(State& state) const { require(state.threads[thread].flush() == nullptr); }

std::string Trim::text() const { return say("trim", {{"pad", pad}}); }
void Trim::run(State&) const {
  registry.for_each([&](Arena& arena) { arena.trim(pad); });
}

std::string ReleaseReservations::text() const { return "release reservations"; }
void ReleaseReservations::run(State&) const {
  registry.for_each([&](Arena& arena) { arena.release_reservations(); });
}

std::string EndThread::text() const { return say("end thread", {{"thread", thread}, {"cached", cached ? 1U : 0U}}); }
void EndThread::run(State& state) const {
  require(state.threads[thread].end() == nullptr);
  new (&state.threads[thread]) ThreadCache();
  state.threads[thread].attach(cached);
}

std::string FailCall::text() const { return say("fail call", {{"n", n}}); }
void FailCall::run(State& state) const {
  fake::fail_call(n);
  state.failing = n != 0;
}

std::string Contain::text() const { return say("contain", {{"pick", pick}}); }
void Contain::run(State& state) const {
  if (registry.count() == 0) return;
  Arena& arena = *registry.find({static_cast<std::uint16_t>(1 + pick % registry.count())});
  arena.contain();
  state.contained_one = true;
  std::erase_if(state.given, [&](char* place) { return lookup_heap(place).arena() == arena.id(); });
}

std::size_t slot_size_from(Input& input) {
  const std::size_t choice = input.byte();
  return choice < 128   ? choice * 4
         : choice < 192 ? (choice - 128) * 32
                        : std::min<std::size_t>(input.word(), kMaxSlotSize);
}

Operation next_operation(Input& input) {
  const std::size_t choice = input.byte();
  const std::size_t thread = choice % kThreads;
  if (choice < 90) {
    const std::size_t size = slot_size_from(input);
    return TakeSlot{thread, size, choice % 8 == 0 ? std::size_t{1} << (input.byte() % 15) : 16};
  }
  if (choice < 140) return GiveSlot{thread, input.byte()};
  if (choice < 150) return GiveAgain{thread, input.byte()};
  if (choice < 170) {
    const std::size_t units = 1 + (choice % 4 == 0 ? input.byte() : input.byte() % 16);
    return TakeRun{thread, units, choice % 5 == 0 ? std::size_t{1} << (input.byte() % 8) : 1, choice % 7 != 0};
  }
  if (choice < 182) return GiveRun{input.byte()};
  if (choice < 192) return ResizeRun{input.byte(), 1 + input.byte() % 40};
  if (choice < 202) return TakeMapping{input.word() * 8, choice % 4 == 0 ? std::size_t{1} << (input.byte() % 22) : 16};
  if (choice < 208) return GiveMapping{input.byte()};
  if (choice < 216) return ResizeMapping{input.byte(), input.word() * 8};
  if (choice < 224) return LookInside{input.byte(), input.word()};
  if (choice < 230) return Flush{thread};
  if (choice < 236) return Trim{input.word() * 16};
  if (choice < 239) return ReleaseReservations{};
  if (choice < 244) return EndThread{thread, choice % 2 == 0};
  if (choice < 255) return FailCall{input.byte() % 6};
  // Rare: from then on the rest of the input works with fewer arenas.
  return input.byte() < 64 ? Operation{Contain{input.byte()}} : Operation{Trim{0}};
}

void choose_options(Input& input) {
  const std::size_t choice = input.byte();
  fake::set_page_size(choice % 4 == 0 ? 64_KiB : choice % 4 == 1 ? 16_KiB : 4_KiB);
  options.set(OptionIndex::arena_max, 1 + choice / 4 % 4);
  const std::size_t memory = input.byte();
  options.set(OptionIndex::reservation, memory % 3 == 0 ? 0 : memory % 3 == 1 ? 1_MiB : kHeapSize);
  options.set(OptionIndex::top_pad, memory / 3 % 3 * 64_KiB);
  options.set(OptionIndex::trim_threshold, memory / 9 % 3 == 0 ? SIZE_MAX : memory / 9 % 3 * 128_KiB);
}

}  // namespace
}  // namespace arenite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace arenite;
  static const bool verbose = std::getenv("FUZZ_VERBOSE") != nullptr;
  const fake::FreshProcess process;
  Input input(data, size);
  done().clear();
  choose_options(input);
  State state;
  while (!input.empty() && done().size() < kMostOperations) {
    done().push_back(next_operation(input));
    if (verbose) std::fprintf(stderr, "  %s\n", text_of(done().back()).c_str());
    std::visit([&](const auto& operation) { operation.run(state); }, done().back());
    state.check();
  }
  return 0;
}
