#include "arena/arena.h"

#include "base/checks.h"
#include "heap/footprint.h"
#include "heap/heap_table.h"
#include "heap/span_guard.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/memory_limit.h"
#include "os/overcommit.h"
#include "policy/options.h"

namespace arenite {

namespace {

GrowthRule growth_rule() { return {.reservation = options.reservation(), .pad = options.top_pad()}; }

TrimRule trim_rule() { return {.threshold = options.trim_threshold(), .pad = options.top_pad()}; }

// Shorter pieces of free memory are purged only if there is too much of them.
constexpr std::size_t kWorthACall = 256_KiB;

// What the others leave of the floor, but at least an equal share, and not so little that small heaps make calls all
// the time.
std::size_t floor_left(std::size_t floor, std::size_t slack_of_others) {
  constexpr std::size_t kLeastShare = 128_KiB;
  const std::size_t arenas = relaxed_load(&arenas_made);
  const std::size_t share = floor / (arenas == 0 ? 1 : arenas);
  const std::size_t least = share > kLeastShare || share == floor ? share : kLeastShare;
  const std::size_t left = floor > slack_of_others ? floor - slack_of_others : 0;
  return left > least ? left : least;
}

// What the control groups allow is read at the first purge. Relaxed: every thread finds the same.
std::size_t groups_limit = SIZE_MAX;
bool groups_were_read = false;

void read_groups() {
  if (relaxed_load(&groups_were_read)) return;
  relaxed_store(&groups_limit, os::memory_limit());
  relaxed_store(&groups_were_read, true);
}

bool is_above_soft_limit() {
  const std::size_t soft = options.soft_limit();
  if (soft != 0) return footprint.bytes() > soft;
  const std::size_t hard = options.hard_limit() != 0 ? options.hard_limit() : relaxed_load(&groups_limit);
  return footprint.bytes() > hard / 8 * 7;
}

}  // namespace

constinit std::size_t arenas_made = 0;
constinit std::size_t arenas_slack = 0;

namespace {

// Of the calling thread.
thread_local constinit std::uint32_t purges_under_way ARENITE_INITIAL_EXEC = 0;

}  // namespace

Arena::Arena(ArenaId id) : id_(id) {
  front_.set();
  back_.set();
  __atomic_add_fetch(&arenas_made, 1, __ATOMIC_RELAXED);
}

void Arena::contain(Damage kind, const void* where) {
  if (contained()) return;
  contain();
  damage_log.note({.kind = kind, .whole_arena = true, .arena = id_, .where = where});
}

// A span that cannot be contained alone takes the arena with it.
void Arena::contain_span(Heap& heap, UnitIndex span, ClassIndex cls) {
  const void* const where = pointer_at(heap.address_of_unit(span));
  if (!arenite::contain_span(heap, span, cls)) return contain(Damage::kSpan, where);
  damage_log.note({.kind = Damage::kSpan, .whole_arena = false, .arena = id_, .where = where});
}

bool Arena::is_usable() {
  if (contained()) return false;
  if (ARENITE_LIKELY(front_.is_whole() && back_.is_whole())) return true;
  contain(Damage::kArena, this);
  return false;
}

Heap* Arena::checked(Heap* heap) {
  if (!is_aligned(address_of(heap), kHeapSize) || lookup_heap(heap).arena() != id_) {
    contain(Damage::kLink, heap);
  } else if (!heap->is_whole(id_)) {
    contain(Damage::kHeap, heap);
  } else {
    return heap;
  }
  return nullptr;
}

Heap* Arena::follow(const ProtectedPtr<Heap>& link) {
  if (Heap* const heap = link.get(); heap != nullptr) return checked(heap);
  if (!link.is_whole()) contain(Damage::kLink, &link);
  return nullptr;
}

std::size_t Arena::take_slots(ClassIndex cls, void** out, std::size_t want) {
  const os::LockGuard guard(lock_);
  if (!is_usable()) return 0;
  std::size_t taken = take_from_stock(cls, out, want);
  while (taken < want && !contained()) {
    Heap* const heap = lowest_partial(cls);
    if (heap != nullptr) {
      const UnitIndex span{static_cast<std::uint32_t>(heap->partial_spans(cls).lowest())};
      taken += take_from_span(*heap, span, cls, out + taken, want - taken);
    } else if (taken != 0 || !open_new_span(cls)) {
      break;  // a short batch rather than one more span
    }
  }
  return taken;
}

void* Arena::give_slots(void* const* slots, std::size_t count) {
  const os::LockGuard guard(lock_);
  void* refused = nullptr;
  Heap* heap = nullptr;  // that of the slot before
  const bool usable = is_usable();
  for (std::size_t index = 0; index < count; ++index) {
    void* const slot = slots[index];
    Heap* const own = &Heap::of(slot);
    if (own != heap) heap = usable ? checked(own) : nullptr;
    if (ARENITE_UNLIKELY(heap == nullptr)) {
      note_dropped(count - index);
      return refused;
    }
    if (!give_back(*heap, slot) && refused == nullptr) refused = slot;
  }
  give_back_if_due();
  return refused;
}

// A span that says it can give and does not, or whose descriptor cannot be right, is contained.
std::size_t Arena::take_from_span(Heap& heap, UnitIndex first, ClassIndex cls, void** out, std::size_t want) {
  const Span& span = heap.span_at(first);
  if (span.cls != cls || !is_plausible(heap, first)) {
    contain_span(heap, first, cls);
    return 0;
  }
  const std::size_t unpurged = span.unpurged();
  const std::size_t clean = span.clean;
  const std::size_t taken = arenite::take_slots(heap, first, out, want);
  if (ARENITE_UNLIKELY(taken == 0)) {
    contain_span(heap, first, cls);
    return 0;
  }
  purge_rule_.note_taken(taken * size_class(span.cls).slot_size);
  purge_rule_.note_fresh((clean - span.clean) * size_class(span.cls).slot_size);
  purge_rule_.remove_slack(unpurged - span.unpurged());
  return taken;
}

// A slot that is not stocked any more was freed twice at once, and the other free has won: it is left out.
std::size_t Arena::take_from_stock(ClassIndex cls, void** out, std::size_t want) {
  const std::size_t popped = transfer_.pop(cls, out, want);
  std::size_t taken = 0;
  for (std::size_t index = 0; index < popped; ++index) {
    if (lookup_heap(out[index]).arena() != id_) {
      contain(Damage::kArena, this);
      return 0;
    }
    const Heap& heap = Heap::of(out[index]);
    const std::size_t granule = heap.granule_of(out[index]);
    if (heap.map().get(granule) != GranuleByte::stocked(cls)) continue;
    heap.map().set(granule, GranuleByte::cached(cls));
    out[taken++] = out[index];
  }
  return taken;
}

// A transfer stack that runs over has nobody to take from it: what it holds goes home as well.
bool Arena::give_back(Heap& heap, void* slot) {
  const std::size_t granule = heap.granule_of(slot);
  const ClassIndex cls = heap.map().get(granule).cls();
  if (!heap.owns_class(cls) || heap.map().get(granule) != GranuleByte::cached(cls)) return false;
  if (transfer_.push(cls, slot)) {
    heap.map().set(granule, GranuleByte::stocked(cls));
    return true;
  }
  if (transfer_.count(cls) != 0) flush_transfer_stack(cls);
  return give_to_span(heap, slot);
}

// A slot whose span is contained, or is found damaged now.
bool Arena::drop_slot(Heap& heap, UnitIndex span, ClassIndex cls) {
  if (heap.span_at(span).cls != kContainedClass) contain_span(heap, span, cls);
  note_dropped(1);
  return true;
}

// The slot's byte in the map says that it is a cached one of a class of the heap.
bool Arena::give_to_span(Heap& heap, void* slot) {
  const ClassIndex cls = heap.map().get(heap.granule_of(slot)).cls();
  const UnitIndex first = heap.span_start(heap.unit_of(slot));
  const Span& span = heap.span_at(first);
  if (ARENITE_UNLIKELY(span.cls != cls || span.free >= span.carved)) return drop_slot(heap, first, cls);
  if (!give_slot(heap, first, slot)) return false;
  purge_rule_.note_given(size_class(cls).slot_size);
  purge_rule_.add_slack(size_class(cls).slot_size);
  if (span.all_free()) {
    if (!is_plausible(heap, first)) return drop_slot(heap, first, cls);
    purge_rule_.remove_slack(span.unpurged());
    give_span(heap, first);
  } else if (partial_hint_[cls.value] == nullptr || &heap < partial_hint_[cls.value]) {
    partial_hint_[cls.value] = &heap;
  }
  return true;
}

Heap* Arena::lowest_partial(ClassIndex cls) {
  Heap* heap = partial_hint_[cls.value];
  if (heap != nullptr) heap = checked(heap);
  while (heap != nullptr && heap->partial_spans(cls).empty()) heap = follow(heap->next());
  partial_hint_[cls.value] = heap;
  return heap;
}

bool Arena::open_new_span(ClassIndex cls) {
  const SizeClass& info = size_class(cls);
  const UnitCount count{info.span_units};
  const bool guarded = wants_span_guards();
  const UnitsOf taken = take_units(info.kind, guarded ? count + UnitCount{1} : count, {1}, /*may_grow=*/true);
  if (taken.heap == nullptr) return false;
  const UnitRange range{.first = taken.units.range.first, .count = count};
  open_span(*taken.heap, range, cls);
  if (guarded && !place_span_guard(*taken.heap, range.end())) {
    give_units(*taken.heap, {.first = range.end(), .count = {1}});
  }
  partial_hint_[cls.value] = taken.heap;  // there was none
  return true;
}

// An all-free slot span; what its guard covers is clean.
void Arena::give_span(Heap& heap, UnitIndex first) {
  const UnitRange range = close_span(heap, first);
  if (remove_span_guard(heap, range.end())) heap.give_units({.first = range.end(), .count = {1}});
  give_units(heap, range);
}

// What is ready comes first, in order of address; then a heap that can grow; then a new heap.
Arena::UnitsOf Arena::take_units(HeapKind kind, UnitCount count, UnitCount alignment, bool may_grow) {
  const GrowthRule growth = growth_rule();
  for (const bool growing : {false, true}) {
    if (growing && !may_grow) return {};
    for (Heap* heap = first_heap(kind); heap != nullptr; heap = follow(heap->next())) {
      const TakenUnits units = heap->take_units(count, alignment, growing ? &growth : nullptr);
      if (units.range.count.value == 0) continue;
      note_units(units);
      if (growing) note_growth();
      return {.heap = heap, .units = units};
    }
  }
  if (contained()) return {};
  // An aligned run may need to skip units behind the start of the heap.
  const UnitCount skipped{alignment.value - 1};
  const UnitCount room = heap_capacity(kind) < count + skipped ? heap_capacity(kind) : count + skipped;
  // Many arenas never need more than a part of their first heaps; where that is not enough, the heap grows in place, or
  // a whole one follows.
  const std::size_t reservation = first_heap(kind) == nullptr ? growth.reservation / 2 : growth.reservation;
  const GrowthRule new_heap_growth{.reservation = reservation, .pad = growth.pad};
  Heap* const heap = room < count ? nullptr : Heap::create(kind, id_, room, new_heap_growth);
  if (heap == nullptr) return {};
  const TakenUnits units = heap->take_units(count, alignment, &growth);
  if (units.range.count.value == 0 && heap->destroy()) return {};
  list_heap(heap);
  note_units(units);
  note_growth();
  return {.heap = units.range.count.value == 0 ? nullptr : heap, .units = units};
}

void Arena::note_units(const TakenUnits& taken) {
  purge_rule_.remove_slack(taken.dirty * kUnitSize);
  purge_rule_.note_fresh((taken.range.count.value - taken.dirty) * kUnitSize);
}

void Arena::list_heap(Heap* added) {
  ProtectedPtr<Heap>& first = heaps_[static_cast<std::size_t>(added->kind())];
  Heap* before = nullptr;
  Heap* behind = follow(first);
  while (behind != nullptr && behind < added) {
    before = behind;
    behind = follow(behind->next());
  }
  added->set_next(behind);
  if (before == nullptr) {
    first.set(added);
  } else {
    before->set_next(added);
  }
}

void Arena::give_units(Heap& heap, UnitRange range) {
  heap.give_units(range);
  purge_rule_.add_slack(range.count.value * kUnitSize);
  if (!options.dynamic_thresholds() && heap.trimmable_top(trim_rule()) != 0) top_is_due_ = true;
}

// Where the program has not set the thresholds, the purge by amount, which makes fewer calls, sees to the tops as well.
void Arena::give_back_if_due() {
  if (ARENITE_UNLIKELY(top_is_due_)) {
    top_is_due_ = false;
    purge_rule_.remove_slack(trim_tops(trim_rule(), os::purge_way()));
  }
  publish_slack();
  const PurgeRule::Bound bound = purge_bound();
  if (ARENITE_UNLIKELY(purge_rule_.is_tolerated(bound))) note_time_now_and_then();
  if (ARENITE_UNLIKELY(purge_rule_.is_due(bound))) purge_by_amount();
}

// So often that what is tolerated is not kept when the times have changed.
void Arena::note_time_now_and_then() {
  constexpr std::uint32_t kCalls = 64;
  constexpr std::size_t kBytes = 1_MiB;
  const std::size_t slack = purge_rule_.slack();
  const std::size_t change = slack > timed_slack_ ? slack - timed_slack_ : timed_slack_ - slack;
  if (++untimed_calls_ < kCalls && change < kBytes) return;
  untimed_calls_ = 0;
  timed_slack_ = slack;
  purge_rule_.note_time(os::monotonic_microseconds());
}

PurgeRule::Bound Arena::purge_bound() const {
  constexpr std::size_t kTightFloor = 1_MiB;
  constexpr std::size_t kTightPercent = 5;
  const std::size_t all = relaxed_load(&arenas_slack);
  const std::size_t others = all > published_slack_ ? all - published_slack_ : 0;
  if (ARENITE_UNLIKELY(is_above_soft_limit())) {
    return {.floor = floor_left(kTightFloor, others), .percent = kTightPercent, .tolerant = false};
  }
  return {.floor = floor_left(options.dirty_floor(), others), .percent = options.dirty_percent(), .tolerant = true};
}

// In steps, so that the arenas do not all write one word all the time.
void Arena::publish_slack() {
  constexpr std::size_t kStep = 64_KiB;
  const std::size_t slack = align_down(purge_rule_.slack(), kStep);
  if (ARENITE_LIKELY(slack == published_slack_)) return;
  __atomic_add_fetch(&arenas_slack, slack - published_slack_, __ATOMIC_RELAXED);
  published_slack_ = slack;
}

// The large pieces first; the small ones, and those in partly used spans, only while there is too much left.
void Arena::purge_by_amount() {
  read_groups();
  const os::PurgeWay way = os::purge_way();
  const bool with_tops = options.dynamic_thresholds();
  flush_idle_transfer_stacks();
  purge_rule_.note_purge(os::monotonic_microseconds());
  const std::size_t enough = purge_rule_.limit(purge_bound()) / 2;
  const TrimRule all_but_pad{.threshold = 0, .pad = options.top_pad()};
  std::size_t purged = with_tops && way == os::PurgeWay::kReplace ? trim_tops(all_but_pad, way) : 0;
  Purged units = purge_units(way, kWorthACall, with_tops);
  purged += units.purged;
  if (units.left + unpurged_slots() > enough) {
    units = purge_units(way, /*least=*/1, with_tops);
    purged += units.purged;
  }
  if (units.left + unpurged_slots() > enough) purged += purge_slots(way);
  if (with_tops) for_each_heap([&](Heap& heap) { heap.lower_grown(all_but_pad); });
  // Where the system refuses (memory may be locked), it is asked again only after as much has come together again.
  if (purged != 0) purge_rule_.add_slack(units.left + unpurged_slots());
  publish_slack();
}

Purged Arena::purge_units(os::PurgeWay way, std::size_t least, bool with_tops) {
  Purged sum;
  PurgeBatch batch;
  const auto hold_all = [&](Heap& heap, auto hold) {
    for (UnitIndex from = first_unit_of(heap.kind()); from < kHeapEnd;) {
      from = (heap.*hold)(from, least, &batch, &sum.left);
      if (!batch.has_room()) sum.purged += purge(batch, way);
    }
  };
  for_each_heap([&](Heap& heap) {
    hold_all(heap, &Heap::hold_units);
    if (with_tops) hold_all(heap, &Heap::hold_top);
  });
  sum.purged += purge(batch, way);
  return sum;
}

std::size_t Arena::purge_slots(os::PurgeWay way) {
  std::size_t purged = 0;
  PurgeBatch batch;
  for_each_heap([&](Heap& heap) {
    for (unsigned cls = first_class_of(heap.kind()); heap.owns_class({static_cast<std::uint8_t>(cls)}); ++cls) {
      const Bitmap<kUnitsPerHeap>& spans = heap.partial_spans({static_cast<std::uint8_t>(cls)});
      for (std::size_t first = spans.lowest(); first != Bitmap<kUnitsPerHeap>::kNone;) {
        const UnitIndex span{static_cast<std::uint32_t>(first)};
        if (!is_plausible(heap, span)) {
          contain_span(heap, span, {static_cast<std::uint8_t>(cls)});
          if (contained()) return;
          first = spans.next_set(first + 1);
        } else if (hold_slots(heap, span, &batch)) {
          first = spans.next_set(first + 1);
        } else {
          purged += purge(batch, way);
          first = spans.next_set(first);
        }
      }
    }
  });
  return purged + purge(batch, way);
}

// By replacement, the tops are decommitted at once: nobody may commit the same pages meanwhile.
std::size_t Arena::trim_tops(const TrimRule& rule, os::PurgeWay way) {
  std::size_t given_back = 0;
  if (way == os::PurgeWay::kReplace) {
    for_each_heap([&](Heap& heap) { given_back += heap.decommit_top(rule); });
    return given_back;
  }
  PurgeBatch batch;
  for_each_heap([&](Heap& heap) {
    const std::size_t trimmable = heap.trimmable_top(rule);
    if (trimmable == 0) return;
    std::size_t left = 0;
    for (UnitIndex from = heap.grown() - units_for(trimmable); from < kHeapEnd;) {
      from = heap.hold_top(from, /*least=*/1, &batch, &left);
      if (!batch.has_room()) given_back += purge(batch, way);
    }
  });
  given_back += purge(batch, way);
  for_each_heap([&](Heap& heap) { heap.lower_grown(rule); });
  return given_back;
}

// What has been held goes back to the system, without the lock, and is free again. The bytes that the system took.
std::size_t Arena::purge(PurgeBatch& batch, os::PurgeWay way) {
  if (batch.empty()) return 0;
  ++purges_under_way;
  {
    const os::UnlockGuard unlocked(lock_);
    batch.call(way);
  }
  --purges_under_way;
  std::size_t bytes = 0;
  batch.for_each_piece([&](const PurgePiece& piece) {
    if (piece.gone) bytes += piece.bytes;
    if (piece.kind == PurgePiece::Kind::kUnits && piece.gone) {
      piece.heap->note_purged({.first = piece.heap->unit_of(pointer_at(piece.start)), .count = units_for(piece.bytes)});
    } else if (piece.kind == PurgePiece::Kind::kSlots) {
      const ClassIndex cls = piece.heap->span_at(piece.span).cls;
      if (end_slots(piece)) {
        give_span(*piece.heap, piece.span);
      } else if (partial_hint_[cls.value] == nullptr || piece.heap < partial_hint_[cls.value]) {
        partial_hint_[cls.value] = piece.heap;
      }
    }
  });
  batch.for_each_run([](const HeldRun& run) { run.heap->end_hold(run.range); });
  batch.clear();
  return bytes;
}

std::size_t Arena::unpurged_slots() {
  std::size_t bytes = 0;
  for_each_heap([&](const Heap& heap) { bytes += heap.unpurged_slots(); });
  return bytes;
}

// A heap has grown, which is rare enough to look at all of them.
void Arena::note_growth() {
  std::size_t grown = 0;
  for_each_heap([&](const Heap& heap) { grown += heap.grown_bytes(); });
  if (grown > most_grown_) most_grown_ = grown;
}

void Arena::settle() {
  const os::LockGuard guard(lock_);
  if (!is_usable()) return;
  flush_transfer_stacks();
  purge_rule_.note_time(os::monotonic_microseconds());
  give_back_if_due();
}

namespace {

// Whether the descriptor can be that of a run.
bool is_run(const Heap& heap, UnitIndex first) {
  const Span& span = heap.span_at(first);
  return span.cls == kRunClass && span.units != 0 && span.units_before == 0 &&
         first + UnitCount{span.units} <= heap.top();
}

}  // namespace

TakenRun Arena::take_run(UnitCount count, UnitCount alignment, bool may_grow) {
  const os::LockGuard guard(lock_);
  if (!is_usable()) return {};
  const UnitsOf taken = take_units(HeapKind::kRuns, count, alignment, may_grow);
  if (taken.heap == nullptr) return {};
  const UnitIndex first = taken.units.range.first;
  Span& span = taken.heap->span_at(first);
  span = Span{};
  span.cls = kRunClass;
  span.units = static_cast<std::uint16_t>(count.value);
  taken.heap->map().set(first.value, GranuleByte::live(kRunClass));
  purge_rule_.note_taken(count.value * kUnitSize);
  return {.pointer = pointer_at(taken.heap->address_of_unit(first)), .zeroed = taken.units.dirty == 0};
}

bool Arena::give_run(void* run) {
  const os::LockGuard guard(lock_);
  Heap* const found = is_usable() ? checked(&Heap::of(run)) : nullptr;
  if (found == nullptr) {
    note_dropped(1);
    return true;
  }
  Heap& heap = *found;
  const UnitIndex first = heap.unit_of(run);
  if (heap.map().get(first.value) != GranuleByte::live(kRunClass)) return false;
  if (!is_run(heap, first)) {
    contain(Damage::kSpan, run);
    note_dropped(1);
    return true;
  }
  heap.map().set(first.value, GranuleByte::free(kRunClass));
  const UnitRange range{.first = first, .count = {heap.span_at(first).units}};
  heap.span_at(first) = Span{};
  purge_rule_.note_given(range.count.value * kUnitSize);
  give_units(heap, range);
  give_back_if_due();
  return true;
}

bool Arena::resize_run(void* run, UnitCount count) {
  const os::LockGuard guard(lock_);
  Heap* const found = is_usable() ? checked(&Heap::of(run)) : nullptr;
  if (found == nullptr) return false;
  Heap& heap = *found;
  const UnitIndex first = heap.unit_of(run);
  if (heap.map().get(first.value) != GranuleByte::live(kRunClass)) return false;
  if (!is_run(heap, first)) {
    contain(Damage::kSpan, run);
    return false;
  }
  Span& span = heap.span_at(first);
  const UnitCount old_count{span.units};
  const GrowthRule growth = growth_rule();
  if (count > old_count) {
    const TakenUnits added = heap.extend_units({.first = first, .count = old_count}, count - old_count, &growth);
    if (added.range.count.value == 0) return false;
    note_units(added);
    purge_rule_.note_taken(added.range.count.value * kUnitSize);
  }
  span.units = static_cast<std::uint16_t>(count.value);
  if (count < old_count) {
    purge_rule_.note_given((old_count - count).value * kUnitSize);
    give_units(heap, {.first = first + count, .count = old_count - count});
    give_back_if_due();
  }
  return true;
}

void Arena::flush_transfer_stack(ClassIndex cls) {
  void* slot = nullptr;
  while (transfer_.count(cls) != 0) {
    if (take_from_stock(cls, &slot, 1) == 1) give_to_span(Heap::of(slot), slot);
    if (contained()) return;
  }
  transfer_.close(cls);
}

// From which nobody has tried to take since the last purge.
void Arena::flush_idle_transfer_stacks() {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    if (!transfer_.was_used({cls})) flush_transfer_stack({cls});
  }
}

void Arena::flush_transfer_stacks() {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) flush_transfer_stack({cls});
}

std::size_t Arena::trim(std::size_t pad) {
  const os::LockGuard guard(lock_);
  if (!is_usable()) return 0;
  flush_transfer_stacks();
  return give_back_all(pad);
}

// The transfer stacks do not count as slack; who takes from one opens it again.
void Arena::purge_idle() {
  const os::LockGuard guard(lock_);
  if (!is_usable() || purge_rule_.take_least_slack() < os::page_size()) return;
  flush_transfer_stacks();
  give_back_all(options.top_pad());
}

std::size_t Arena::give_back_all(std::size_t pad) {
  const os::PurgeWay way = os::purge_way();
  const std::size_t tops = trim_tops({.threshold = 0, .pad = pad}, way);
  const Purged units = purge_units(way, /*least=*/1, /*with_tops=*/false);
  const std::size_t slots = purge_slots(way);
  purge_rule_.note_trim();
  purge_rule_.add_slack(units.left);
  publish_slack();
  return tops + units.purged + slots;
}

void Arena::end_holds() {
  const os::LockGuard guard(lock_);
  if (!is_usable() || purges_under_way != 0) return;
  for_each_heap([&](Heap& heap) {
    // One at a time: the end of a hold changes what there is to walk over.
    for (UnitRange held; (held = heap.find_held()).count.value != 0;) {
      heap.end_hold(held);
      purge_rule_.add_slack(held.count.value * kUnitSize);
    }
  });
}

std::size_t Arena::release_reservations() {
  const os::LockGuard guard(lock_);
  if (!is_usable()) return 0;
  std::size_t released = 0;
  for_each_heap([&](Heap& heap) { released += heap.release_reservation(); });
  return released;
}

void Arena::count_span(const Heap& heap, UnitIndex first, ArenaFigures* figures) const {
  const Span& span = heap.span_at(first);
  if (span.cls == kRunClass) {
    figures->live_bytes += span.units * kUnitSize;
    return;
  }
  if (span.cls == kContainedClass) ++figures->contained_spans;
  if (!is_plausible(heap, first)) return;
  const SizeClass& info = size_class(span.cls);
  const std::size_t start = heap.granule_of(pointer_at(heap.address_of_unit(first)));
  const std::size_t step = info.slot_size >> granule_bits(heap.kind());
  std::size_t live = 0;
  std::size_t cached = 0;
  for (std::size_t slot = 0; slot < span.carved; ++slot) {
    const GranuleByte byte = heap.map().get(start + slot * step);
    if (byte.is_live()) ++live;
    if (byte.is_cached_or_stocked()) ++cached;
  }
  const std::size_t free = std::size_t{info.slots_per_span} - live - cached;
  figures->live_slots += live;
  figures->cached_slots += cached;
  figures->free_slots += free;
  figures->live_bytes += live * info.slot_size;
  figures->cached_bytes += cached * info.slot_size;
  figures->free_bytes += free * info.slot_size;
}

std::size_t Arena::slack() {
  const os::LockGuard guard(lock_);
  return purge_rule_.slack();
}

ArenaFigures Arena::figures() {
  const os::LockGuard guard(lock_);
  ArenaFigures figures;
  if (!is_usable()) return figures;
  for_each_heap([&](const Heap& heap) {
    ++figures.heap_count;
    figures.heaps += heap.figures();
    heap.for_each_span([&](UnitIndex first) { count_span(heap, first, &figures); });
  });
  figures.most_grown = most_grown_;
  return figures;
}

void Arena::check_invariants() {
  const os::LockGuard guard(lock_);
  if (contained()) return;
  for (std::size_t kind = 0; kind < kHeapKinds; ++kind) {
    const Heap* before = nullptr;
    for (Heap* heap = follow(heaps_[kind]); heap != nullptr; before = heap, heap = follow(heap->next())) {
      ARENITE_CHECK(heap->arena() == id_ && static_cast<std::size_t>(heap->kind()) == kind);
      ARENITE_CHECK(before == nullptr || before < heap);
      heap->check_invariants();
    }
  }
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    for (Heap* heap = first_heap(size_class({cls}).kind); heap != nullptr; heap = follow(heap->next())) {
      const bool skipped = partial_hint_[cls] == nullptr || heap < partial_hint_[cls];
      ARENITE_CHECK(!skipped || heap->partial_spans({cls}).empty());
    }
  }
}

}  // namespace arenite
