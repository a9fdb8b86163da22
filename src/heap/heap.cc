#include "heap/heap.h"

#include <new>

#include "base/checks.h"
#include "base/relaxed.h"
#include "heap/footprint.h"
#include "heap/heap_table.h"
#include "os/clock.h"
#include "os/memory.h"

namespace arenite {

namespace {

// The map becomes writable in steps of this many bytes.
constexpr std::size_t kMapStep = kMaxPageSize;

// The first unit boundary at or behind `bytes` from the base that is also a boundary of pages: for every page size, or
// of huge ones.
constexpr UnitIndex unit_end(std::size_t bytes, std::size_t page = kMaxPageSize) {
  return {static_cast<std::uint32_t>(align_up(bytes, page > kMaxPageSize ? page : kMaxPageSize) / kUnitSize)};
}

constexpr UnitIndex lower(UnitIndex a, UnitIndex b) { return a < b ? a : b; }

// How much of the map is writable if the units up to `end` are committed. The part that describes the heap's head is
// never used; writable with the head, it saves a mapping.
constexpr std::size_t writable_map_bytes(HeapKind kind, UnitIndex end) {
  return align_up((end.value * kUnitSize) >> granule_bits(kind), kMapStep);
}

// Reservations that the system has refused just now: none of that length is asked for until some time has passed, so
// that not each arena goes the whole way down under a limit. Relaxed: it guides.
class Refusals {
 public:
  // Reservations of this length and more.
  std::size_t hopeless() const {
    const std::size_t least = relaxed_load(&least_);
    if (least == SIZE_MAX || os::monotonic_microseconds() - relaxed_load(&when_) < kMemory) return least;
    return SIZE_MAX;
  }
  void note(std::size_t bytes) {
    const std::uint64_t now = os::monotonic_microseconds();
    if (bytes < relaxed_load(&least_) || now - relaxed_load(&when_) >= kMemory) relaxed_store(&least_, bytes);
    relaxed_store(&when_, now);
  }

 private:
  static constexpr std::uint64_t kMemory = 10'000;

  std::size_t least_ = SIZE_MAX;
  std::uint64_t when_ = 0;
};

constinit Refusals refusals;

void* reserve_heap(std::size_t wanted, std::size_t needed, std::size_t* reserved) {
  const std::size_t hopeless = refusals.hopeless();
  for (std::size_t bytes = wanted; bytes > needed; bytes /= 2) {
    if (bytes >= hopeless) continue;
    *reserved = align_up(bytes, kMaxPageSize);
    if (void* const base = os::reserve(*reserved, kHeapSize); base != nullptr) return base;
    refusals.note(bytes);
  }
  *reserved = align_up(needed, kMaxPageSize);
  return os::reserve(*reserved, kHeapSize);
}

}  // namespace

Heap::Heap(HeapKind kind, ArenaId arena, UnitIndex reserved, HugeUse huge)
    : kind_(kind),
      arena_(arena),
      huge_(huge),
      top_(first_unit_of(kind)),
      grown_(top_),
      committed_(top_),
      reserved_(reserved),
      map_committed_(writable_map_bytes(kind, first_unit_of(kind))) {
  front_.set();
  back_.set();
}

bool Heap::is_whole(ArenaId arena) const {
  return is_heap_of(arena) && first_unit_of(kind_) <= top_ && top_ <= grown_ && grown_ <= committed_ &&
         committed_ <= reserved_ && reserved_ <= kHeapEnd;
}

Heap* Heap::create(HeapKind kind, ArenaId arena, UnitCount capacity, const GrowthRule& growth) {
  const UnitIndex needed = first_unit_of(kind) + capacity;
  if (needed > kHeapEnd) return nullptr;
  const std::size_t wanted = growth.reservation < kMostReserved ? growth.reservation : kMostReserved;
  std::size_t reserved = 0;
  void* const base = reserve_heap(wanted, needed.value * kUnitSize, &reserved);
  if (base == nullptr) return nullptr;
  const std::size_t writable = kGranuleMapOffset + writable_map_bytes(kind, first_unit_of(kind));
  const std::size_t head = kGranuleMapOffset + align_up(map_bytes(kind), kMaxPageSize);
  const bool usable = os::commit(base, writable) &&
                      (head == writable || os::make_readable(pointer_at(address_of(base) + writable), head - writable));
  if (!usable) {
    os::release(base, reserved);
    return nullptr;
  }
  Heap* const heap =
      new (base) Heap(kind, arena, {static_cast<std::uint32_t>(reserved / kUnitSize)}, huge_use_of_heaps());
  // Where others have mapped something there already, it stays without.
  heap->head_guarded_ = os::reserve_at(heap->head_guard(), kHeadGuard);
  heap->advise_huge(first_unit_of(kind), heap->reserved_);
  enter_heap(base, arena, arenite::granule_bits(kind));
  return heap;
}

bool Heap::destroy() {
  void* const base = this;
  const std::size_t bytes = reserved_.value * kUnitSize;
  void* const guard = head_guarded_ ? head_guard() : nullptr;
  leave_heap(base);
  if (os::release(base, bytes)) {
    if (guard != nullptr) os::release(guard, kHeadGuard);
    return true;
  }
  enter_heap(base, arena_, arenite::granule_bits(kind_));
  return false;
}

TakenUnits Heap::take_units(UnitCount count, UnitCount alignment, const GrowthRule* growth) {
  if (count.value <= longest_free_) {
    std::size_t longest = 0;
    const std::size_t start = free_units_.find_run(count.value, alignment.value, &longest);
    if (start != Bitmap<kUnitsPerHeap>::kNone) {
      const UnitRange range{.first = {static_cast<std::uint32_t>(start)}, .count = count};
      if (!footprint.add(clean_bytes(range))) return {};
      free_units_.clear_range(start, count.value);
      return taken(range);
    }
    longest_free_ = longest;
  }
  const UnitIndex start{static_cast<std::uint32_t>(align_up(top_.value, alignment.value))};
  const UnitIndex end = start + count;
  if (!make_ready(end, growth) || !footprint.add(clean_bytes({.first = start, .count = count}))) return {};
  const UnitRange skipped{.first = top_, .count = start - top_};
  top_ = end;
  if (skipped.count.value != 0) give_units(skipped);
  return taken({.first = start, .count = count});
}

std::size_t Heap::clean_bytes(UnitRange range) const {
  return (range.count.value - dirty_units_.count(range.first.value, range.count.value)) * kUnitSize;
}

void Heap::mark_clean(UnitRange range) {
  footprint.remove(range.count.value * kUnitSize - clean_bytes(range));
  dirty_units_.clear_range(range.first.value, range.count.value);
}

TakenUnits Heap::taken(UnitRange range) {
  const auto dirty = static_cast<std::uint32_t>(dirty_units_.count(range.first.value, range.count.value));
  dirty_units_.set_range(range.first.value, range.count.value);
  if (kind_ == HeapKind::kRuns) map().erase(range.first.value, range.count.value);
  return {.range = range, .dirty = dirty};
}

TakenUnits Heap::extend_units(UnitRange range, UnitCount more, const GrowthRule* growth) {
  const UnitIndex end = range.end() + more;
  const UnitRange added{.first = range.end(), .count = more};
  const bool at_top = added.first == top_;
  const bool is_free =
      at_top ? make_ready(end, growth) : end <= top_ && free_units_.next_clear(added.first.value) >= end.value;
  if (!is_free || !footprint.add(clean_bytes(added))) return {};
  if (at_top) {
    top_ = end;
  } else {
    free_units_.clear_range(added.first.value, more.value);
  }
  return taken(added);
}

void Heap::give_units(UnitRange range) {
  if (range.end() == top_) {
    const auto free_below = static_cast<std::uint32_t>(free_units_.run_below(range.first.value));
    top_ = range.first - UnitCount{free_below};
    free_units_.clear_range(top_.value, free_below);
    return;
  }
  free_units_.set_range(range.first.value, range.count.value);
  const std::size_t before = free_units_.run_below(range.first.value);
  const std::size_t merged = before + free_units_.next_clear(range.first.value) - range.first.value;
  if (merged > longest_free_) longest_free_ = merged;
}

std::size_t Heap::granularity() const {
  const std::size_t page = os::page_size() > kUnitSize ? os::page_size() : kUnitSize;
  return huge_.page > page ? huge_.page : page;
}

bool Heap::make_ready(UnitIndex end, const GrowthRule* growth) {
  return end <= kHeapEnd && (end <= grown_ || (growth != nullptr && grow_to(end, *growth)));
}

bool Heap::grow_to(UnitIndex end, const GrowthRule& growth) {
  // In proportion to the heap, too, so that building up a large heap costs few calls.
  const std::size_t eighth = (committed_.value - first_unit_of(kind_).value) * kUnitSize / 8;
  const std::size_t extra = growth.pad > eighth ? growth.pad : eighth;
  const std::size_t padded_bytes = saturating_add(end.value * kUnitSize, extra < kHeapSize ? extra : kHeapSize);
  const UnitIndex padded = unit_end(padded_bytes, huge_.page);
  const UnitIndex wanted = lower(padded, end > reserved_ ? kHeapEnd : reserved_);
  const UnitIndex needed = unit_end(end.value * kUnitSize);
  if (needed > committed_ && !commit_to(wanted) && needed > committed_ && !commit_to(needed)) return false;
  const UnitIndex with_pad =
      unit_end(saturating_add(end.value * kUnitSize, growth.pad < kHeapSize ? growth.pad : kHeapSize));
  grown_ = lower(with_pad, committed_);
  return true;
}

bool Heap::commit_to(UnitIndex end) {
  if (end > reserved_ && !reserve_to(end)) return false;
  const std::size_t map_end = writable_map_bytes(kind_, end);
  if (map_end > map_committed_) {
    const std::uintptr_t map_base = address_of(this) + kGranuleMapOffset;
    if (!os::commit(pointer_at(map_base + map_committed_), map_end - map_committed_)) return false;
    map_committed_ = map_end;
  }
  return commit_units(end);
}

// What no whole page from the pool fits, and what the pool has not, is made of ordinary pages.
bool Heap::commit_units(UnitIndex end) {
  const std::size_t units = huge_.kind == HugeUse::Kind::kPool ? huge_.page / kUnitSize : 1;
  const UnitIndex huge_first{static_cast<std::uint32_t>(align_up(committed_.value, units))};
  const UnitIndex huge_end{static_cast<std::uint32_t>(align_down(end.value, units))};
  if (units == 1 || huge_first >= huge_end) return commit_piece(end, /*from_pool=*/false);
  return commit_piece(huge_first, /*from_pool=*/false) && commit_piece(huge_end, /*from_pool=*/true) &&
         commit_piece(end, /*from_pool=*/false);
}

bool Heap::commit_piece(UnitIndex end, bool from_pool) {
  void* const start = pointer_at(address_of_unit(committed_));
  const std::size_t bytes = (end - committed_).value * kUnitSize;
  const bool done = bytes == 0 || (from_pool && os::commit_huge(start, bytes, huge_.page)) || os::commit(start, bytes);
  if (done) committed_ = end;
  return done;
}

// Only a wish: where it is refused, the heap has other pages.
void Heap::advise_huge(UnitIndex first, UnitIndex end) {
  if (huge_.kind != HugeUse::Kind::kAlways && huge_.kind != HugeUse::Kind::kNever) return;
  const std::uintptr_t start = align_up(address_of_unit(first), kMaxPageSize);
  os::advise_huge(pointer_at(start), address_of_unit(end) - start, huge_.kind == HugeUse::Kind::kAlways);
}

bool Heap::reserve_to(UnitIndex end) {
  if (!os::reserve_at(pointer_at(address_of_unit(reserved_)), (end - reserved_).value * kUnitSize)) return false;
  advise_huge(reserved_, end);
  relaxed_store(&reserved_.value, end.value);
  return true;
}

std::size_t Heap::trimmable_top(const TrimRule& rule) const {
  const std::size_t bytes = trimmable((grown_ - top_).value * kUnitSize, rule, granularity());
  const std::size_t end = grown_.value * kUnitSize;
  return bytes == 0 ? 0 : align_down(end - align_up(end - bytes, granularity()), kUnitSize);
}

// All that is committed behind the start goes, so that the committed part stays one piece.
std::size_t Heap::decommit_top(const TrimRule& rule) {
  const std::size_t trimmable = trimmable_top(rule);
  if (trimmable == 0) return 0;
  const UnitIndex start = grown_ - units_for(trimmable);
  const std::size_t committed = (committed_ - start).value * kUnitSize;
  if (!os::decommit(pointer_at(address_of_unit(start)), committed)) return 0;
  mark_clean({.first = start, .count = committed_ - start});
  grown_ = start;
  committed_ = start;
  return committed;
}

// What the system would not take counts as top still, and is offered again.
void Heap::lower_grown(const TrimRule& rule) {
  const std::size_t trimmable = trimmable_top(rule);
  if (trimmable == 0) return;
  const UnitIndex start = grown_ - units_for(trimmable);
  if (dirty_units_.count(start.value, (grown_ - start).value) == 0) grown_ = start;
}

// Holds the run if there is a piece in it: as many pieces as the batch has room for. Units that share a page with
// others stay. False if it was not held; `from` receives where to go on.
bool Heap::hold_pieces(UnitRange run, UnitIndex* from, std::size_t least, PurgeBatch* batch, std::size_t* left) {
  const std::size_t pages = granularity() / kUnitSize;
  const std::size_t end = run.end().value;
  bool held = false;
  std::size_t dirty = dirty_units_.next_set(from->value > run.first.value ? from->value : run.first.value);
  while (dirty < end && batch->has_room()) {
    const std::size_t dirty_end = dirty_units_.next_clear(dirty) < end ? dirty_units_.next_clear(dirty) : end;
    const std::size_t first = align_up(dirty, pages);
    const std::size_t behind = align_down(dirty_end, pages);
    const std::size_t bytes = first < behind ? (behind - first) * kUnitSize : 0;
    if (bytes == 0 || bytes < least) {
      *left += bytes;
    } else {
      const std::uintptr_t start = address_of_unit({static_cast<std::uint32_t>(first)});
      batch->add(PurgePiece{.kind = PurgePiece::Kind::kUnits,
                            .replace = huge_.kind == HugeUse::Kind::kPool,
                            .heap = this,
                            .start = start,
                            .bytes = bytes});
      held = true;
    }
    dirty = dirty_units_.next_set(dirty_end);
  }
  *from = {static_cast<std::uint32_t>(dirty < end ? dirty : end)};
  if (!held) return false;
  batch->add(HeldRun{.heap = this, .range = run});
  add_map_piece(run, batch);
  Span& span = span_at(run.first);
  span = Span{};
  span.cls = kHeldClass;
  span.units = static_cast<std::uint16_t>(run.count.value);
  return true;
}

// The map of free units is all zeros, so its pages can go with them. That of runs is one page, and remembers freed
// runs.
void Heap::add_map_piece(UnitRange run, PurgeBatch* batch) {
  if (kind_ == HeapKind::kRuns) return;
  const std::uintptr_t map = address_of(this) + kGranuleMapOffset;
  const unsigned bits = arenite::granule_bits(kind_);
  const std::uintptr_t start = align_up(map + ((run.first.value * kUnitSize) >> bits), os::page_size());
  const std::size_t mapped_end = (run.end().value * kUnitSize) >> bits;
  const std::uintptr_t end =
      align_down(map + (mapped_end < map_committed_ ? mapped_end : map_committed_), os::page_size());
  if (start >= end) return;
  batch->add(PurgePiece{.kind = PurgePiece::Kind::kMap, .heap = this, .start = start, .bytes = end - start});
}

UnitIndex Heap::hold_units(UnitIndex from, std::size_t least, PurgeBatch* batch, std::size_t* left) {
  while (batch->has_room()) {
    const std::size_t free = free_units_.next_set(from.value);
    if (free == Bitmap<kUnitsPerHeap>::kNone) return kHeapEnd;
    const std::size_t first = free - free_units_.run_below(free);  // `from` may lie in a run that was held in part
    const std::size_t end = free_units_.next_clear(free);
    const UnitRange run{.first = {static_cast<std::uint32_t>(first)},
                        .count = {static_cast<std::uint32_t>(end - first)}};
    if (hold_pieces(run, &from, least, batch, left)) free_units_.clear_range(first, end - first);
  }
  return from;
}

UnitIndex Heap::hold_top(UnitIndex from, std::size_t least, PurgeBatch* batch, std::size_t* left) {
  std::size_t dirty_end = top_.value;
  for (std::size_t dirty; (dirty = dirty_units_.next_set(dirty_end)) != Bitmap<kUnitsPerHeap>::kNone;) {
    dirty_end = dirty_units_.next_clear(dirty);
  }
  const UnitRange top{.first = top_, .count = UnitIndex{static_cast<std::uint32_t>(dirty_end)} - top_};
  if (from >= top.end() || top.count.value == 0) return kHeapEnd;
  if (hold_pieces(top, &from, least, batch, left)) {
    top_ = top.end();
    if (grown_ < top_) grown_ = top_;
  }
  return from < top.end() ? from : kHeapEnd;
}

void Heap::end_hold(UnitRange range) {
  span_at(range.first) = Span{};
  give_units(range);
}

UnitRange Heap::find_held() const {
  UnitRange held;
  for_each_span([&](UnitIndex first) {
    if (span_at(first).cls == kHeldClass) held = {.first = first, .count = {span_at(first).units}};
  });
  return held;
}

std::size_t Heap::unpurged_slots() const {
  std::size_t bytes = 0;
  for (const Bitmap<kUnitsPerHeap>& spans : partial_) {
    for (std::size_t first = spans.lowest(); first != Bitmap<kUnitsPerHeap>::kNone; first = spans.next_set(first + 1)) {
      const UnitIndex span{static_cast<std::uint32_t>(first)};
      const std::size_t unpurged = is_plausible(*this, span) ? span_at(span).unpurged() : 0;
      if (unpurged >= os::page_size()) bytes += unpurged;
    }
  }
  return bytes;
}

// Behind what is committed, the map describes nothing.
std::size_t Heap::release_map() {
  const std::size_t end = writable_map_bytes(kind_, committed_);
  const std::size_t bytes = map_committed_ - end;
  if (bytes == 0 || !os::make_readable(pointer_at(address_of(this) + kGranuleMapOffset + end), bytes)) return 0;
  map_committed_ = end;
  return bytes;
}

std::size_t Heap::release_reservation() { return release_behind_top() + release_map(); }

std::size_t Heap::release_behind_top() {
  const UnitIndex old_end = reserved_;
  const UnitIndex end = unit_end(top_.value * kUnitSize, huge_.page);
  if (end >= old_end) return 0;
  const std::size_t bytes = (old_end - end).value * kUnitSize;
  // Before the range is free for others: what they place there must not be taken for the heap's.
  relaxed_store(&reserved_.value, end.value);
  if (!os::release(pointer_at(address_of_unit(end)), bytes)) {
    relaxed_store(&reserved_.value, old_end.value);
    return 0;
  }
  committed_ = lower(committed_, end);
  grown_ = lower(grown_, end);
  mark_clean({.first = end, .count = kHeapEnd - end});
  return bytes;
}

HeapFigures& HeapFigures::operator+=(const HeapFigures& other) {
  reserved += other.reserved;
  committed += other.committed;
  grown += other.grown;
  free_units += other.free_units;
  free_unit_runs += other.free_unit_runs;
  top += other.top;
  huge_padding += other.huge_padding;
  return *this;
}

HeapFigures Heap::figures() const {
  HeapFigures figures;
  figures.reserved = reserved_.value * kUnitSize;
  figures.committed = (committed_ - first_unit_of(kind_)).value * kUnitSize + map_committed_;
  figures.grown = grown_bytes();
  figures.top = (grown_ - top_).value * kUnitSize;
  if (huge_.page != 0) figures.huge_padding = (committed_ - grown_).value * kUnitSize;
  for (std::size_t first = free_units_.lowest(); first != Bitmap<kUnitsPerHeap>::kNone;) {
    const std::size_t end = free_units_.next_clear(first);
    figures.free_units += (end - first) * kUnitSize;
    ++figures.free_unit_runs;
    first = free_units_.next_set(end);
  }
  return figures;
}

void Heap::check_invariants() const {
  const UnitIndex first = first_unit_of(kind_);
  ARENITE_CHECK(first <= top_ && top_ <= grown_ && grown_ <= committed_ && committed_ <= reserved_ &&
                reserved_ <= kHeapEnd);
  ARENITE_CHECK(free_units_.count(0, first.value) == 0);
  ARENITE_CHECK(free_units_.next_set(top_.value) == Bitmap<kUnitsPerHeap>::kNone);
  ARENITE_CHECK(top_ == first || !free_units_.test(top_.value - 1));
  ARENITE_CHECK(dirty_units_.next_set(committed_.value) == Bitmap<kUnitsPerHeap>::kNone);
  std::size_t partial_seen = 0;
  for (UnitIndex unit = first; unit < top_;) {
    if (free_units_.test(unit.value)) {
      const std::size_t end = free_units_.next_clear(unit.value);
      ARENITE_CHECK(end - unit.value <= longest_free_);
      unit = {static_cast<std::uint32_t>(end)};
      continue;
    }
    const Span& span = span_at(unit);
    ARENITE_CHECK(span.cls.value != 0 && span.units_before == 0 && span.units != 0);
    if (span.cls.value <= kClassCount) {
      check_span(*this, unit);
      const bool listed = const_cast<Heap*>(this)->partial_spans(span.cls).test(unit.value);
      ARENITE_CHECK(listed == span.can_give());
      if (listed) ++partial_seen;
    }
    unit = unit + UnitCount{span.units};
    ARENITE_CHECK(unit <= top_);
  }
  std::size_t listed_all = 0;
  for (const auto& listed : partial_) listed_all += listed.count(0, kUnitsPerHeap);
  ARENITE_CHECK(listed_all == partial_seen);
}

}  // namespace arenite
