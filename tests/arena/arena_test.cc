#include "arena/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "fake/clock.h"
#include "fake/file.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "heap/block.h"
#include "os/memory.h"
#include "policy/options.h"

namespace arenite {
namespace {

constexpr ArenaId kOwner{9};

// Slots and runs taken from an arena as its threads would take them, each filled with a byte of its own.
class ArenaUser {
 public:
  struct Slot {
    void* place;
    ClassIndex cls;
    std::uint8_t fill;
  };
  struct Run {
    void* place;
    std::size_t units;
    std::uint8_t fill;
  };

  enum class Company { kAlone, kWithOthers };
  explicit ArenaUser(Arena* arena, Company company = Company::kAlone)
      : arena_(arena), alone_(company == Company::kAlone) {}

  std::size_t take_slots(ClassIndex cls, std::size_t want) {
    std::vector<void*> out(want);
    const std::size_t taken = arena_->take_slots(cls, out.data(), want);
    EXPECT_LE(taken, want);
    for (std::size_t index = 0; index < taken; ++index) {
      EXPECT_EQ(byte_of(out[index]), GranuleByte::cached(cls));
      EXPECT_TRUE(addresses_.insert(out[index]).second) << "handed out twice";
      set_byte(out[index], GranuleByte::live(cls));
      slots_.push_back({out[index], cls, next_fill()});
      std::memset(out[index], slots_.back().fill, size_class(cls).slot_size);
    }
    return taken;
  }

  // The number of slots given, in random order.
  std::size_t give_slots(std::size_t count, std::mt19937_64& random) {
    std::vector<void*> back;
    for (; count > 0 && !slots_.empty(); --count) {
      std::swap(slots_[random() % slots_.size()], slots_.back());
      check(slots_.back());
      set_byte(slots_.back().place, GranuleByte::cached(slots_.back().cls));
      back.push_back(slots_.back().place);
      addresses_.erase(slots_.back().place);
      slots_.pop_back();
    }
    EXPECT_EQ(arena_->give_slots(back.data(), back.size()), nullptr);
    return back.size();
  }

  bool take_run(std::uint32_t units, std::uint32_t alignment, bool may_grow) {
    const TakenRun run = arena_->take_run({units}, {alignment}, may_grow);
    if (run.pointer == nullptr) return false;
    EXPECT_TRUE(is_aligned(address_of(run.pointer), alignment * kUnitSize));
    EXPECT_EQ(find_block(run.pointer).bytes, units * kUnitSize);
    if (run.zeroed) expect_zero(run.pointer, units * kUnitSize);
    EXPECT_TRUE(addresses_.insert(run.pointer).second);
    runs_.push_back({run.pointer, units, next_fill()});
    std::memset(run.pointer, runs_.back().fill, units * kUnitSize);
    return true;
  }

  void give_run(std::mt19937_64& random) {
    if (runs_.empty()) return;
    std::swap(runs_[random() % runs_.size()], runs_.back());
    check(runs_.back());
    EXPECT_TRUE(arena_->give_run(runs_.back().place));
    if (alone_) {
      EXPECT_FALSE(arena_->give_run(runs_.back().place)) << "a second time";
      EXPECT_EQ(find_block(runs_.back().place).bytes, 0U);
    }
    addresses_.erase(runs_.back().place);
    runs_.pop_back();
  }

  void resize_run(std::uint32_t units, std::mt19937_64& random) {
    if (runs_.empty()) return;
    Run& run = runs_[random() % runs_.size()];
    const std::size_t old_units = run.units;
    const bool resized = arena_->resize_run(run.place, {units});
    EXPECT_TRUE(resized || units > run.units) << "a run can always be made shorter";
    if (resized) run.units = units;
    EXPECT_EQ(find_block(run.place).bytes, run.units * kUnitSize);
    check(Run{run.place, std::min<std::size_t>(old_units, run.units), run.fill});
    std::memset(run.place, run.fill, run.units * kUnitSize);
  }

  void check_all() {
    for (const Slot& slot : slots_) check(slot);
    for (const Run& run : runs_) check(run);
  }

  // Everything is either live, as the user knows, or free or cached in the arena.
  void check_figures() {
    std::size_t bytes = 0;
    for (const Slot& slot : slots_) bytes += size_class(slot.cls).slot_size;
    for (const Run& run : runs_) bytes += run.units * kUnitSize;
    const ArenaFigures figures = arena_->figures();
    EXPECT_EQ(figures.live_slots, slots_.size());
    EXPECT_EQ(figures.live_bytes, bytes);
    EXPECT_GE(figures.heaps.grown, figures.live_bytes + figures.cached_bytes + figures.free_bytes +
                                       figures.heaps.free_units + figures.heaps.top);
    EXPECT_LE(figures.heaps.grown, figures.heaps.committed);
    EXPECT_LE(figures.heaps.committed, figures.heaps.reserved);
  }

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  static GranuleByte byte_of(void* slot) { return Heap::of(slot).map().get(Heap::of(slot).granule_of(slot)); }
  static void set_byte(void* slot, GranuleByte byte) {
    Heap::of(slot).map().set(Heap::of(slot).granule_of(slot), byte);
  }
  static void expect_filled(const void* place, std::size_t bytes, std::uint8_t fill) {
    const auto* const start = static_cast<const std::uint8_t*>(place);
    ASSERT_EQ(start[0], fill);
    ASSERT_EQ(std::memcmp(start, start + 1, bytes - 1), 0);
  }
  static void expect_zero(const void* place, std::size_t bytes) { expect_filled(place, bytes, 0); }
  static void check(const Slot& slot) { expect_filled(slot.place, size_class(slot.cls).slot_size, slot.fill); }
  static void check(const Run& run) { expect_filled(run.place, run.units * kUnitSize, run.fill); }
  std::uint8_t next_fill() { return last_fill_ = static_cast<std::uint8_t>(last_fill_ % 255 + 1); }

  Arena* arena_;
  bool alone_;
  std::vector<Slot> slots_;
  std::vector<Run> runs_;
  std::set<void*> addresses_;
  std::uint8_t last_fill_ = 0;
};

class ArenaTest : public ::testing::Test {
 protected:
  static void random_step(Arena& arena, ArenaUser& user, std::mt19937_64& random) {
    const ClassIndex cls{static_cast<std::uint8_t>(1 + random() % kClassCount)};
    const auto units = static_cast<std::uint32_t>(1 + random() % (random() % 10 == 0 ? 200 : 10));
    switch (random() % 10) {
      case 0:
      case 1:
      case 2:
        user.take_slots(cls, random() % 80);
        break;
      case 3:
      case 4:
        user.give_slots(random() % 120, random);
        break;
      case 5:
      case 6:
        user.take_run(units, std::uint32_t{1} << (random() % 4), random() % 3 != 0);
        break;
      case 7:
        user.give_run(random);
        break;
      case 8:
        user.resize_run(units, random);
        break;
      default:
        if (random() % 4 == 0) arena.trim(random() % 1_MiB);
        if (random() % 16 == 0) arena.release_reservations();
        break;
    }
    arena.check_invariants();
  }

  const fake::FreshProcess process_;
  Arena arena_{kOwner};
  ArenaUser user_{&arena_};
};

TEST_F(ArenaTest, RandomOperationsKeepEverythingWhole) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    for (int step = 0; step < 300; ++step) random_step(arena_, user_, random);
    user_.check_all();
    user_.check_figures();
  }
}

TEST_F(ArenaTest, SoTheyDoWithSmallReservationsAndNoSlack) {
  options.set(OptionIndex::reservation, 0);
  options.set(OptionIndex::top_pad, 0);
  options.set(OptionIndex::trim_threshold, 0);
  std::mt19937_64 random(11);
  for (int step = 0; step < 1000; ++step) random_step(arena_, user_, random);
  user_.check_all();
  user_.check_figures();
}

TEST_F(ArenaTest, SoTheyDoOnLargePages) {
  fake::set_page_size(64_KiB);
  std::mt19937_64 random(12);
  for (int step = 0; step < 500; ++step) random_step(arena_, user_, random);
  user_.check_all();
  user_.check_figures();
}

TEST_F(ArenaTest, SoTheyDoWhenSystemCallsFail) {
  std::mt19937_64 random(13);
  options.set(OptionIndex::reservation, 1_MiB);
  for (int step = 0; step < 1500; ++step) {
    if (random() % 2 == 0) fake::fail_call(1 + random() % 4);
    random_step(arena_, user_, random);
  }
  fake::allow_all();
  user_.check_all();
  user_.check_figures();
}

// With guards inside of mappings, with mapped ones, and where system calls fail.
TEST_F(ArenaTest, SoTheyDoWithGuardsBehindSpans) {
  options.set(OptionIndex::harden, feature_bit(Feature::guards));
  options.set(OptionIndex::reservation, 1_MiB);
  std::mt19937_64 random(14);
  for (int step = 0; step < 1500; ++step) {
    if (step % 100 == 0) fake::have_guards(random() % 2 == 0);
    if (step >= 1000 && random() % 2 == 0) fake::fail_call(1 + random() % 4);
    random_step(arena_, user_, random);
  }
  fake::allow_all();
  user_.check_all();
  user_.check_figures();
}

TEST_F(ArenaTest, BehindEachSpanComesAGuardThatGoesWithIt) {
  options.set(OptionIndex::harden, feature_bit(Feature::guards));
  std::mt19937_64 random(15);
  for (const bool inside : {false, true}) {
    fake::have_guards(inside);
    for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) user_.take_slots({cls}, 200);
    for (const ArenaUser::Slot& slot : user_.slots()) {
      const Heap& heap = Heap::of(slot.place);
      const UnitIndex first = heap.span_start(heap.unit_of(slot.place));
      const UnitIndex guard = first + UnitCount{size_class(slot.cls).span_units};
      ASSERT_EQ(heap.span_at(guard).cls, kGuardClass);
      ASSERT_FALSE(fake::is_usable(pointer_at(heap.address_of_unit(guard)), 1));
    }
    user_.give_slots(SIZE_MAX, random);
    arena_.trim(0);
    arena_.check_invariants();
    EXPECT_EQ(arena_.figures().heaps.free_units, 0U) << "all has come together again";
    EXPECT_LT(arena_.figures().heaps.top, 3 * kMaxPageSize);
  }
}

TEST_F(ArenaTest, ATakeGivesAtLeastOneAndAtMostWhatIsWanted) {
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    for (const std::size_t want : {1U, 2U, 64U}) {
      const std::size_t taken = user_.take_slots({cls}, want);
      EXPECT_GE(taken, 1U);
      EXPECT_LE(taken, want);
    }
  }
  EXPECT_EQ(arena_.figures().heap_count, 3U) << "one heap for each kind of granule";
}

TEST_F(ArenaTest, FreshSlotsComeLowestFirst) {
  void* slots[64];
  ASSERT_EQ(arena_.take_slots(class_for(64), slots, 64), 64U);
  for (std::size_t index = 1; index < 64; ++index) {
    EXPECT_EQ(address_of(slots[index]), address_of(slots[index - 1]) + 64);
  }
}

TEST_F(ArenaTest, TheLowestSpanIsUsedFirst) {
  const ClassIndex cls = class_for(256);
  const std::size_t per_span = size_class(cls).slots_per_span;
  std::vector<void*> slots;
  for (std::size_t span = 0; span < 4; ++span) {
    for (std::size_t index = 0; index < per_span; ++index) {
      void* slot = nullptr;
      ASSERT_EQ(arena_.take_slots(cls, &slot, 1), 1U);
      slots.push_back(slot);
    }
  }
  // More than the transfer stack holds from each of the upper spans, then one slot of the first.
  for (std::size_t index = per_span; index < slots.size(); ++index) {
    if (index % per_span == 0) continue;
    ASSERT_EQ(arena_.give_slots(&slots[index], 1), nullptr);
  }
  arena_.trim(SIZE_MAX);
  ASSERT_EQ(arena_.give_slots(slots.data(), 1), nullptr);
  arena_.trim(SIZE_MAX);
  void* again = nullptr;
  ASSERT_EQ(arena_.take_slots(cls, &again, 1), 1U);
  EXPECT_EQ(again, slots[0]);
  ASSERT_EQ(arena_.take_slots(cls, &again, 1), 1U);
  EXPECT_EQ(again, slots[per_span + 1]);
}

// Heaps that cannot grow, so that the arena has several of a kind: the lowest that can give is always asked first.
TEST_F(ArenaTest, SeveralHeapsOfAKindAreUsedInOrderOfAddress) {
  options.set(OptionIndex::reservation, 0);
  options.set(OptionIndex::top_pad, 0);
  options.set(OptionIndex::dirty_floor, SIZE_MAX);
  const ClassIndex cls = class_for(32_KiB);
  std::vector<void*> slots;
  std::set<Heap*> heaps;
  while (heaps.size() < 4) {
    void* slot = nullptr;
    ASSERT_EQ(arena_.take_slots(cls, &slot, 1), 1U);
    slots.push_back(slot);
    Heap& heap = Heap::of(slot);
    if (!heaps.insert(&heap).second) continue;
    fake::place_next(address_of(&heap) + heap.figures().reserved);
    ASSERT_NE(os::map(64_KiB, 64_KiB), nullptr);
  }
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::shuffle(slots.begin(), slots.end(), random);
    const std::size_t back = 1 + random() % 4;
    ASSERT_EQ(arena_.give_slots(slots.data(), back), nullptr);
    arena_.settle();
    arena_.check_invariants();
    std::set<void*> given(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(back));
    for (std::size_t index = 0; index < back; ++index) {
      ASSERT_EQ(arena_.take_slots(cls, &slots[index], 1), 1U);
      ASSERT_LE(slots[index], *given.begin()) << "lowest first; lower still only where a span was not used up";
      given.erase(slots[index]);
    }
    arena_.check_invariants();
  }
}

TEST_F(ArenaTest, EmptySpansGoBackAndTheirMemoryServesOtherClasses) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) user_.take_slots(class_for(16), 64);
  const std::size_t grown = arena_.figures().heaps.grown;
  user_.give_slots(SIZE_MAX, random);
  arena_.trim(SIZE_MAX);
  const ArenaFigures empty = arena_.figures();
  EXPECT_EQ(empty.live_slots + empty.cached_slots + empty.free_slots, 0U) << "no span is left";
  for (int i = 0; i < 6; ++i) user_.take_slots(class_for(256), 64);
  EXPECT_LE(arena_.figures().heaps.grown, grown);
  arena_.check_invariants();
}

TEST_F(ArenaTest, ASecondGiveIsRefused) {
  const ClassIndex cls = class_for(100);
  void* slots[2];
  ASSERT_EQ(arena_.take_slots(cls, slots, 2), 2U);
  ASSERT_EQ(arena_.give_slots(slots, 1), nullptr);
  arena_.trim(SIZE_MAX);  // out of the transfer stack, into the span
  EXPECT_EQ(arena_.give_slots(slots, 1), slots[0]);
  EXPECT_EQ(arena_.give_slots(slots, 2), slots[0]) << "the first refused one is told";
  arena_.check_invariants();
  arena_.trim(SIZE_MAX);
  const ArenaFigures figures = arena_.figures();
  EXPECT_EQ(figures.cached_slots, 0U);
  EXPECT_EQ(arena_.give_slots(slots + 1, 1), slots[1]) << "the other one has gone home in spite of it";
}

TEST_F(ArenaTest, ALiveSlotIsNotTakenBack) {
  user_.take_slots(class_for(100), 1);
  void* slot = user_.slots()[0].place;
  EXPECT_EQ(arena_.give_slots(&slot, 1), slot);
  user_.check_all();
  user_.check_figures();
}

// Two threads that free one slot at the same time both see it live and mark it cached; both gives reach the arena.
// While the slot lies in the transfer stack its byte says "cached", so the second is noticed on the return to the span
// at the latest.
TEST_F(ArenaTest, ASlotGivenTwiceIsNotHandedOutTwice) {
  const ClassIndex cls = class_for(100);
  for (const bool trims : {true, false}) {
    void* slots[2];
    ASSERT_EQ(arena_.take_slots(cls, slots, 2), 2U);
    EXPECT_EQ(arena_.give_slots(slots, 1), nullptr);
    if (arena_.give_slots(slots, 1) == slots[0]) continue;
    if (trims) arena_.trim(SIZE_MAX);
    void* again[2] = {};
    ASSERT_EQ(arena_.take_slots(cls, again, 2), 2U);
    EXPECT_NE(again[0], again[1]) << (trims ? "through the span" : "through the transfer stack");
    arena_.check_invariants();
  }
}

// The second of two threads that free one slot at the same time marks it cached after the first has brought it home.
TEST_F(ArenaTest, TheMarkOfASecondFreeDoesNotHandTheSlotOutTwice) {
  const ClassIndex cls = class_for(100);
  for (const bool settles : {true, false}) {
    void* slots[2];
    ASSERT_EQ(arena_.take_slots(cls, slots, 2), 2U);
    ASSERT_EQ(arena_.give_slots(slots, 1), nullptr);
    Heap::of(slots[0]).map().set(Heap::of(slots[0]).granule_of(slots[0]), GranuleByte::cached(cls));
    arena_.give_slots(slots, 1);
    if (settles) arena_.settle();
    void* again[3] = {};
    const std::size_t taken = arena_.take_slots(cls, again, 3);
    EXPECT_EQ(std::set<void*>(again, again + taken).size(), taken);
    EXPECT_EQ(std::count(again, again + taken, slots[1]), 0) << "which is in use";
    arena_.check_invariants();
  }
}

TEST_F(ArenaTest, RunsAreReadyOrTheHeapGrows) {
  EXPECT_FALSE(user_.take_run(1, 1, /*may_grow=*/false)) << "nothing is ready";
  EXPECT_EQ(arena_.figures().heap_count, 0U);
  EXPECT_TRUE(user_.take_run(1, 1, true));
  EXPECT_TRUE(user_.take_run(1, 1, false)) << "the pad is ready";
  EXPECT_TRUE(user_.take_run(heap_capacity(HeapKind::kRuns).value, 1, true));
  EXPECT_EQ(arena_.figures().heap_count, 2U);
  EXPECT_FALSE(user_.take_run(heap_capacity(HeapKind::kRuns).value + 1, 1, true));
  user_.check_figures();
}

TEST_F(ArenaTest, WideAlignmentsAreServed) {
  for (std::uint32_t alignment = 1; alignment * kUnitSize <= 16_MiB; alignment *= 2) {
    EXPECT_TRUE(user_.take_run(3, alignment, true)) << alignment;
    arena_.check_invariants();
  }
  user_.check_figures();
}

TEST_F(ArenaTest, AnythingButALiveRunIsRefused) {
  user_.take_run(4, 1, true);
  user_.take_slots(class_for(32_KiB), 1);
  void* const run = user_.runs()[0].place;
  void* const inside = static_cast<char*>(run) + kUnitSize;
  EXPECT_FALSE(arena_.give_run(inside));
  EXPECT_FALSE(arena_.resize_run(inside, {1}));
  EXPECT_EQ(find_block(inside).bytes, 0U);
  EXPECT_FALSE(arena_.give_run(user_.slots()[0].place));
  user_.check_figures();
}

TEST_F(ArenaTest, AContainedArenaGivesAndTakesNothing) {
  std::mt19937_64 random(1);
  user_.take_slots(class_for(100), 10);
  user_.take_run(4, 1, true);
  arena_.contain();
  EXPECT_TRUE(arena_.contained());
  const std::size_t calls = fake::calls();
  void* slot = nullptr;
  EXPECT_EQ(arena_.take_slots(class_for(100), &slot, 1), 0U);
  EXPECT_EQ(arena_.take_run({1}, {1}, true).pointer, nullptr);
  slot = user_.slots()[0].place;
  EXPECT_EQ(arena_.give_slots(&slot, 1), nullptr) << "dropped, not refused";
  EXPECT_TRUE(arena_.give_run(user_.runs()[0].place));
  EXPECT_FALSE(arena_.resize_run(user_.runs()[0].place, {1}));
  EXPECT_EQ(arena_.trim(0), 0U);
  EXPECT_EQ(fake::calls(), calls);
  user_.check_all();
  EXPECT_EQ(find_block(user_.runs()[0].place).bytes, 4 * kUnitSize) << "what lives in it stays readable";
}

// What is found damaged: each case damages something of the arena's and says what is to be found.
struct DamageCase {
  const char* name;
  Damage found;
  bool whole_arena;
  void (*damage)(Arena* arena, void* slot);
};

class ArenaDamageTest : public ArenaTest, public ::testing::WithParamInterface<DamageCase> {
 protected:
  static void overwrite(void* place, std::size_t bytes) { std::memset(place, 0x41, bytes); }
  static Span& span_of(void* slot) {
    const Heap& heap = Heap::of(slot);
    return heap.span_at(heap.span_start(heap.unit_of(slot)));
  }
  friend struct Damages;
};

struct Damages {
  static void arena_start(Arena* arena, void*) { ArenaDamageTest::overwrite(arena, 8); }
  static void heap_start(Arena*, void* slot) { ArenaDamageTest::overwrite(&Heap::of(slot), 8); }
  static void heap_whole(Arena*, void* slot) { ArenaDamageTest::overwrite(&Heap::of(slot), sizeof(Heap)); }
  static void span_class(Arena*, void* slot) { ArenaDamageTest::span_of(slot).cls = {0x41}; }
  static void span_counts(Arena*, void* slot) { ArenaDamageTest::span_of(slot).free = 0x4141; }
  static void span_carved(Arena*, void* slot) { ArenaDamageTest::span_of(slot).carved = 0xffff; }
  static void span_way_back(Arena*, void* slot) { ArenaDamageTest::span_of(slot).units_before = 3; }
  static void span_units(Arena*, void* slot) { ArenaDamageTest::span_of(slot).units = 0; }
};

TEST_P(ArenaDamageTest, IsFoundAndContained) {
  const ClassIndex cls = class_for(100);
  std::vector<void*> slots(size_class(cls).slots_per_span / 2);
  ASSERT_EQ(arena_.take_slots(cls, slots.data(), slots.size()), slots.size());
  void* const other = [&] {
    void* slot = nullptr;
    EXPECT_EQ(arena_.take_slots(class_for(200), &slot, 1), 1U);
    return slot;
  }();
  GetParam().damage(&arena_, slots[0]);
  void* more[64];
  arena_.take_slots(cls, more, 64);
  FoundDamage found;
  ASSERT_TRUE(damage_log.take(&found));
  EXPECT_EQ(found.kind, GetParam().found);
  EXPECT_EQ(found.whole_arena, GetParam().whole_arena);
  EXPECT_EQ(found.arena, kOwner);
  EXPECT_EQ(arena_.contained(), GetParam().whole_arena);
  EXPECT_EQ(arena_.give_slots(slots.data(), slots.size()), nullptr) << "dropped, not refused";
  EXPECT_EQ(arena_.take_slots(class_for(200), more, 1), GetParam().whole_arena ? 0U : 1U);
  EXPECT_EQ(arena_.take_run({1}, {1}, true).pointer == nullptr, GetParam().whole_arena);
  arena_.trim(0);
  arena_.settle();
  arena_.purge_idle();
  if (!GetParam().whole_arena) {
    EXPECT_EQ(arena_.figures().contained_spans, 1U);
    EXPECT_EQ(arena_.give_slots(&other, 1), nullptr);
    EXPECT_GE(arena_.dropped(), 1U);
    arena_.check_invariants();
  } else {
    EXPECT_EQ(arena_.figures().heap_count, 0U) << "passed over";
    EXPECT_EQ(arena_.dropped(), slots.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ArenaDamageTest,
                         ::testing::Values(DamageCase{"arena_start", Damage::kArena, true, Damages::arena_start},
                                           DamageCase{"heap_start", Damage::kHeap, true, Damages::heap_start},
                                           DamageCase{"heap_whole", Damage::kHeap, true, Damages::heap_whole},
                                           DamageCase{"span_class", Damage::kSpan, false, Damages::span_class},
                                           DamageCase{"span_counts", Damage::kSpan, false, Damages::span_counts},
                                           DamageCase{"span_carved", Damage::kSpan, false, Damages::span_carved},
                                           DamageCase{"span_way_back", Damage::kSpan, false, Damages::span_way_back},
                                           DamageCase{"span_units", Damage::kSpan, false, Damages::span_units}),
                         [](const auto& info) { return std::string(info.param.name); });

// A link that does lead to the start of a page, as if the secret had been guessed, meets the heap table: of all such
// places, only the heaps of the arena itself are followed.
TEST_F(ArenaTest, NoForgedLinkIsFollowed) {
  std::mt19937_64 random(11);
  user_.take_slots(class_for(100), 10);
  void* const elsewhere = os::map(1_MiB, 1_MiB);
  for (std::uint16_t round = 0; round < 300; ++round) {
    alignas(Arena) static unsigned char place[sizeof(Arena)];
    std::memset(place, 0, sizeof place);
    Arena& arena = *new (place) Arena({static_cast<std::uint16_t>(10 + round)});
    void* slot = nullptr;
    ASSERT_EQ(arena.take_slots(class_for(100), &slot, 1), 1U);
    Heap& heap = Heap::of(slot);
    const std::uintptr_t forged[] = {
        align_down(random() >> 17, kLinkAlignment),
        address_of(&heap) + kLinkAlignment,
        address_of(elsewhere),
        address_of(&Heap::of(user_.slots()[0].place)),
        align_down(random() >> 17, kHeapSize) | kHeapSize,
    };
    heap.set_next(static_cast<Heap*>(pointer_at(forged[round % std::size(forged)])));
    EXPECT_EQ(arena.take_run({1}, {1}, true).pointer == nullptr, false) << "another list";
    arena.trim(0);
    FoundDamage found;
    ASSERT_TRUE(damage_log.take(&found)) << round;
    EXPECT_EQ(found.kind, Damage::kLink);
    EXPECT_TRUE(arena.contained());
  }
}

// A span that claims to have free slots, where the map has none.
TEST_F(ArenaTest, ASpanThatPromisesWhatItDoesNotHaveIsContained) {
  const ClassIndex cls = class_for(100);
  std::vector<void*> slots(size_class(cls).slots_per_span);
  ASSERT_EQ(arena_.take_slots(cls, slots.data(), slots.size()), slots.size());
  Heap& heap = Heap::of(slots[0]);
  const UnitIndex first = heap.span_start(heap.unit_of(slots[0]));
  heap.span_at(first).free = 3;
  heap.partial_spans(cls).set(first.value);
  ASSERT_EQ(arena_.give_slots(nullptr, 0), nullptr);
  void* slot = nullptr;
  EXPECT_EQ(arena_.take_slots(cls, &slot, 1), 1U) << "of another span";
  FoundDamage found;
  ASSERT_TRUE(damage_log.take(&found));
  EXPECT_EQ(found.kind, Damage::kSpan);
  EXPECT_EQ(found.where, pointer_at(heap.address_of_unit(first)));
  EXPECT_FALSE(arena_.contained());
}

// Span descriptors are overwritten at random, and the arena is used: nothing faults, nothing hangs, and what is handed
// out is handed out once.
TEST_F(ArenaTest, NoSpanDescriptorIsTrustedBlindly) {
  std::mt19937_64 random(5);
  for (std::uint16_t round = 0; round < 400; ++round) {
    alignas(Arena) static unsigned char place[sizeof(Arena)];
    std::memset(place, 0, sizeof place);
    Arena& arena = *new (place) Arena({static_cast<std::uint16_t>(10 + round)});
    const ClassIndex cls = class_for(16 + random() % 2000);
    void* slots[40];
    const std::size_t taken = arena.take_slots(cls, slots, 40);
    ASSERT_NE(taken, 0U);
    void* const run = arena.take_run({3}, {1}, true).pointer;
    const Heap& heap = Heap::of(random() % 2 == 0 ? slots[0] : run);
    const UnitIndex near = first_unit_of(heap.kind()) + UnitCount{static_cast<std::uint32_t>(random() % 4)};
    const std::size_t field = random() % sizeof(Span);
    static_cast<unsigned char*>(static_cast<void*>(&heap.span_at(near)))[field] = static_cast<unsigned char>(random());
    std::set<void*> out(slots, slots + taken);
    for (int i = 0; i < 20; ++i) {
      void* more[20];
      const std::size_t got = arena.take_slots(cls, more, 20);
      for (std::size_t index = 0; index < got; ++index) EXPECT_TRUE(out.insert(more[index]).second) << round;
    }
    arena.give_slots(slots, taken);
    arena.resize_run(run, {2});
    arena.give_run(run);
    arena.trim(0);
    arena.figures();
  }
}

TEST_F(ArenaTest, TrimGivesBackThePagesOfFreeMemory) {
  options.set(OptionIndex::dirty_floor, SIZE_MAX);  // the frees themselves give nothing back
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) user_.take_run(20, 1, true);
  for (int i = 0; i < 30; ++i) user_.give_run(random);
  EXPECT_GT(arena_.trim(0), 10 * 20 * kUnitSize);
  EXPECT_EQ(arena_.trim(0), 0U) << "once";
  arena_.check_invariants();
  user_.check_all();
  EXPECT_LE(arena_.figures().heaps.top, 64_KiB);
}

// All slots of a class that fill some spans.
std::vector<void*> take_many(Arena& arena, ClassIndex cls, std::size_t bytes) {
  std::vector<void*> slots;
  while (slots.size() * size_class(cls).slot_size < bytes) {
    void* slot = nullptr;
    EXPECT_EQ(arena.take_slots(cls, &slot, 1), 1U);
    std::memset(slot, 7, size_class(cls).slot_size);
    slots.push_back(slot);
  }
  return slots;
}

TEST_F(ArenaTest, TheFreesThemselvesGiveMemoryBackByAmount) {
  options.set(OptionIndex::dirty_floor, 1_MiB);
  options.set(OptionIndex::dirty_percent, 10);
  options.set(OptionIndex::trim_threshold, SIZE_MAX);
  for (const std::size_t size : {100U, 300U, 900U}) {
    const ClassIndex cls = class_for(size);
    Arena arena({static_cast<std::uint16_t>(size)});  // a new one: what the last has learned would hold it back
    std::vector<void*> slots = take_many(arena, cls, 16_MiB);
    const std::size_t before = fake::calls(fake::Call::kPurge);
    // In an order that empties all spans at about the same time.
    std::shuffle(slots.begin(), slots.end(), std::mt19937_64(7));
    for (void* const slot : slots) ASSERT_EQ(arena.give_slots(&slot, 1), nullptr);
    EXPECT_GT(fake::calls(fake::Call::kPurge), before) << size;
    EXPECT_LE(arena.slack(), 1_MiB) << size << ": what is dirty still is below the floor";
    arena.check_invariants();
  }
}

TEST_F(ArenaTest, SteadyTrafficGivesNothingBack) {
  options.set(OptionIndex::dirty_floor, 1_MiB);
  options.set(OptionIndex::trim_threshold, SIZE_MAX);
  const ClassIndex cls = class_for(1000);
  std::vector<void*> slots = take_many(arena_, cls, 8_MiB);
  const std::size_t calls = fake::calls(fake::Call::kPurge);
  for (int round = 0; round < 50; ++round) {
    for (std::size_t index = 0; index < 500; ++index) ASSERT_EQ(arena_.give_slots(&slots[index * 3], 1), nullptr);
    for (std::size_t index = 0; index < 500; ++index) ASSERT_EQ(arena_.take_slots(cls, &slots[index * 3], 1), 1U);
  }
  EXPECT_EQ(fake::calls(fake::Call::kPurge), calls);
}

TEST_F(ArenaTest, WhatComesAndGoesWithinASecondIsKeptAtLast) {
  options.set(OptionIndex::dirty_floor, 1_MiB);
  options.set(OptionIndex::trim_threshold, SIZE_MAX);
  const ClassIndex cls = class_for(4000);
  std::size_t last = 0;
  for (int round = 0; round < 12; ++round) {
    const std::vector<void*> slots = take_many(arena_, cls, 6_MiB);
    const std::size_t before = fake::calls(fake::Call::kPurge);
    for (void* const slot : slots) ASSERT_EQ(arena_.give_slots(&slot, 1), nullptr);
    last = fake::calls(fake::Call::kPurge) - before;
    if (round == 0) {
      EXPECT_GT(last, 0U);
    }
  }
  EXPECT_EQ(last, 0U);
}

TEST_F(ArenaTest, ASystemThatRefusesToPurgeIsNotAskedAllTheTime) {
  options.set(OptionIndex::dirty_floor, 1_MiB);
  fake::fail_all(fake::Call::kPurge);
  const ClassIndex cls = class_for(5000);
  const std::vector<void*> slots = take_many(arena_, cls, 4_MiB);
  for (void* const slot : slots) ASSERT_EQ(arena_.give_slots(&slot, 1), nullptr);
  std::size_t calls = fake::calls(fake::Call::kPurge);
  for (int i = 0; i < 1000; ++i) {
    void* slot = nullptr;
    ASSERT_EQ(arena_.take_slots(cls, &slot, 1), 1U);
    ASSERT_EQ(arena_.give_slots(&slot, 1), nullptr);
  }
  EXPECT_LE(fake::calls(fake::Call::kPurge), calls + 100);
}

TEST_F(ArenaTest, FiguresOfAContainedArenaComeToAnEnd) {
  const ClassIndex cls = class_for(100);
  void* slot = nullptr;
  ASSERT_EQ(arena_.take_slots(cls, &slot, 1), 1U);
  Heap& heap = Heap::of(slot);
  arena_.contain();
  heap.span_at(heap.unit_of(slot)) = Span{};  // as by a thread that was interrupted while it opened the span
  EXPECT_LE(arena_.figures().live_slots, 1U);
  EXPECT_EQ(arena_.release_reservations(), 0U);
}

TEST_F(ArenaTest, SettlingEmptiesTheTransferStacks) {
  const ClassIndex cls = class_for(64);
  void* slots[10];
  ASSERT_EQ(arena_.take_slots(cls, slots, 10), 10U);
  EXPECT_EQ(arena_.give_slots(slots, 10), nullptr);
  EXPECT_EQ(arena_.figures().cached_slots, 10U);
  arena_.settle();
  EXPECT_EQ(arena_.figures().cached_slots, 0U);
  arena_.check_invariants();
}

TEST_F(ArenaTest, FreeingAtTheTopTrimsByTheOptions) {
  options.set(OptionIndex::trim_threshold, 1_MiB);
  options.set(OptionIndex::top_pad, 256_KiB);
  user_.take_run(1, 1, true);
  void* const small = arena_.take_run({20}, {1}, true).pointer;
  std::memset(small, 1, 20 * kUnitSize);
  ASSERT_TRUE(arena_.give_run(small));
  EXPECT_EQ(fake::calls(fake::Call::kPurge), 0U) << "below the threshold";
  void* const large = arena_.take_run({100}, {1}, true).pointer;
  std::memset(large, 1, 100 * kUnitSize);
  ASSERT_TRUE(arena_.give_run(large));
  EXPECT_EQ(fake::calls(fake::Call::kPurge), 1U);
  EXPECT_GE(arena_.figures().heaps.top, 256_KiB);
  EXPECT_LT(arena_.figures().heaps.top, 512_KiB);
  arena_.check_invariants();
}

TEST_F(ArenaTest, UnusedAddressSpaceCanBeReleased) {
  std::mt19937_64 random(1);
  user_.take_slots(class_for(16), 10);
  user_.take_slots(class_for(1000), 10);
  const std::size_t mapped = fake::mapped_bytes();
  const std::size_t released = arena_.release_reservations();
  EXPECT_GT(released, kHeapSize / 2);
  EXPECT_EQ(fake::mapped_bytes(), mapped - released);
  arena_.check_invariants();
  user_.take_slots(class_for(16), 10);
  user_.check_all();
}

// A request with the n-th call refused, for every n: null or served, and nothing is lost either way.
TEST_F(ArenaTest, ARefusalAtAnyCallIsSurvived) {
  for (std::size_t n = 1;; ++n) {
    Arena arena(ArenaId{static_cast<std::uint16_t>(20 + n)});
    ArenaUser user(&arena);
    fake::fail_call(n);
    for (const std::size_t size : {16U, 500U, 5000U}) user.take_slots(class_for(size), 4);
    user.take_run(5, 1, true);
    const bool refused = fake::refused();
    fake::allow_all();
    arena.check_invariants();
    user.check_figures();
    EXPECT_GE(user.slots().size() + user.runs().size(), 8U) << "one of four requests at the most fails for one refusal";
    for (const std::size_t size : {16U, 500U, 5000U}) EXPECT_GE(user.take_slots(class_for(size), 4), 1U);
    EXPECT_TRUE(user.take_run(5, 1, true));
    if (!refused) break;
  }
}

// Requests that the system refuses again and again must not use up address space: each tries what is there.
TEST_F(ArenaTest, RequestsThatFailDoNotPileUpHeaps) {
  ASSERT_TRUE(user_.take_run(8, 1, true));
  fake::limit_usable(fake::usable_bytes() + 8_MiB);
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(user_.take_run(1000, 1, true));
  EXPECT_LE(arena_.figures().heap_count, 2U);
  EXPECT_TRUE(user_.take_run(100, 1, true)) << "smaller ones are still served";
  arena_.check_invariants();
}

TEST_F(ArenaTest, ThreadsShareAnArena) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      ArenaUser user(&arena_, ArenaUser::Company::kWithOthers);
      std::mt19937_64 random(static_cast<std::uint64_t>(i));
      for (int step = 0; step < 300; ++step) {
        user.take_slots({static_cast<std::uint8_t>(1 + random() % 20)}, random() % 20);
        user.give_slots(random() % 30, random);
        user.take_run(static_cast<std::uint32_t>(1 + random() % 4), 1, true);
        if (random() % 2 == 0) user.give_run(random);
        if (step % 100 == 0) arena_.trim(0);
      }
      user.check_all();
      user.give_slots(SIZE_MAX, random);
      while (!user.runs().empty()) user.give_run(random);
    });
  }
  for (std::thread& thread : threads) thread.join();
  arena_.check_invariants();
  user_.check_figures();
}

TEST_F(ArenaTest, AboveTheSoftLimitLessFreeMemoryIsKept) {
  const ClassIndex cls = class_for(1000);
  for (const bool above : {false, true}) {
    Arena arena({static_cast<std::uint16_t>(10 + above)});
    options.set(OptionIndex::soft_limit, above ? 8_MiB : 1024_MiB);
    options.set(OptionIndex::dirty_percent, 90);
    std::vector<void*> slots = take_many(arena, cls, 32_MiB);
    for (std::size_t index = 0; index < slots.size() / 3; ++index) arena.give_slots(&slots[index], 1);
    const std::size_t tight = (32_MiB - slots.size() / 3 * 1000) / 20 + 256_KiB;
    if (above) {
      EXPECT_LE(arena.slack(), tight);
    } else {
      EXPECT_GT(arena.slack(), 4 * tight);
    }
  }
}

// What regrets have made the rule tolerate does not outlast the traffic that made it.
TEST_F(ArenaTest, AfterQuietSecondsAFewFreesGiveMemoryBack) {
  constexpr std::size_t kRuns = 10;
  constexpr std::uint32_t kUnits = 1_MiB / kUnitSize;
  const auto take_all = [&] {
    for (std::size_t index = 0; index < kRuns; ++index) user_.take_run(kUnits, 1, true);
  };
  std::mt19937_64 random(15);
  const auto give_all = [&] {
    while (!user_.runs().empty()) user_.give_run(random);
  };
  for (int round = 0; round < 10; ++round) {
    take_all();
    give_all();
  }
  EXPECT_GT(arena_.slack(), 5_MiB) << "steady traffic gives nothing back";
  take_all();
  fake::advance_clock(20'000'000);
  give_all();
  EXPECT_LE(arena_.slack(), 3_MiB);
}

TEST_F(ArenaTest, WhatHasBeenFreeAllTheTimeIsIdle) {
  std::mt19937_64 random(16);
  for (int i = 0; i < 100; ++i) user_.take_run(1, 1, true);
  while (!user_.runs().empty()) user_.give_run(random);
  const std::size_t free = arena_.slack();
  EXPECT_GE(free, 1_MiB) << "below the floor";
  arena_.purge_idle();
  EXPECT_EQ(arena_.slack(), free) << "it was in use since the last look";
  for (int i = 0; i < 100; ++i) user_.take_run(1, 1, true);
  while (!user_.runs().empty()) user_.give_run(random);
  arena_.purge_idle();
  EXPECT_EQ(arena_.slack(), free) << "and again";
  arena_.purge_idle();
  EXPECT_EQ(arena_.slack(), 0U);
  arena_.check_invariants();
}

// The system may be told to count commitments strictly while the process runs.
TEST_F(ArenaTest, MemoryGoesBackAsTheOvercommitSettingAsks) {
  struct Calls {
    std::size_t advising;
    std::size_t replacing;
  };
  const auto calls_so_far = [] {
    return Calls{.advising = fake::calls(fake::Call::kPurge),
                 .replacing = fake::calls(fake::Call::kReplace) + fake::calls(fake::Call::kDecommit)};
  };
  std::mt19937_64 random(14);
  const auto calls_under = [&](const char* setting) {
    fake::set_file("/proc/sys/vm/overcommit_memory", setting);
    fake::advance_clock(1'000'000);
    const Calls before = calls_so_far();
    for (int i = 0; i < 200; ++i) {
      user_.take_run(16, 1, true);
      user_.take_slots(class_for(1024), 60);
    }
    user_.give_slots(user_.slots().size(), random);
    while (!user_.runs().empty()) user_.give_run(random);
    arena_.trim(0);
    arena_.check_invariants();
    const Calls after = calls_so_far();
    return Calls{.advising = after.advising - before.advising, .replacing = after.replacing - before.replacing};
  };
  for (int round = 0; round < 2; ++round) {
    for (const char* const counts_loosely : {"0\n", "1\n"}) {
      const Calls loose = calls_under(counts_loosely);
      EXPECT_GT(loose.advising, 0U);
      EXPECT_EQ(loose.replacing, 0U);
    }
    const Calls strict = calls_under("2\n");
    EXPECT_EQ(strict.advising, 0U);
    EXPECT_GT(strict.replacing, 0U);
  }
}

}  // namespace
}  // namespace arenite
