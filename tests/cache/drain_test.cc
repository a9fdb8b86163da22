#include "cache/drain.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "arena/registry.h"
#include "base/build.h"
#include "cache/cache_use.h"
#include "fake/memory.h"
#include "fake/process.h"
#include "os/clock.h"
#include "os/sleeping_thread.h"
#include "os/thread.h"
#include "policy/options.h"

namespace arenite {
namespace {

class DrainTest : public ::testing::Test {
 protected:
  DrainTest() { options.set(OptionIndex::arena_max, 20); }

  const fake::FreshProcess process_;
};

// By threads, not in transfer stacks.
std::size_t cached_slots() {
  std::size_t sum = 0;
  registry.for_each([&](Arena& arena) {
    arena.trim(0);
    sum += arena.figures().cached_slots;
  });
  return sum;
}

// A thread with a cache, which does what it is told and sleeps in between.
class Worker {
 public:
  Worker() {
    EXPECT_EQ(pipe(ends_), 0);
    thread_ = std::thread([this] {
      number_ = os::thread_number();
      cache_.attach(true);
      for (char byte; read(ends_[0], &byte, 1) == 1;) {
        task_();
        done_ = true;
      }
      EXPECT_EQ(cache_.end(), nullptr);
    });
  }
  ~Worker() {
    close(ends_[1]);
    thread_.join();
    close(ends_[0]);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  template <typename Task>
  void run(Task task) {
    done_ = false;
    task_ = task;
    EXPECT_EQ(write(ends_[1], "x", 1), 1);
    while (!done_) std::this_thread::yield();
  }
  void wait_until_asleep() const {
    for (int look = 0; look < 100'000 && !os::sleeps_in_system_call(number_); ++look) os::nap(10);
  }
  ThreadCache& cache() { return cache_; }

 private:
  int ends_[2];
  std::function<void()> task_;
  std::atomic<bool> done_{false};
  std::atomic<std::uint32_t> number_{0};
  ThreadCache cache_;
  std::thread thread_;
};

bool kernel_tells() { return access("/proc/self/syscall", R_OK) == 0; }

// What orders a thread and whoever drains it is the kernel's sleep, which ThreadSanitizer does not see.
bool is_seen_as_race() { return kBuild.thread_sanitizer; }

// 10 of each class, to and fro.
void use_all_classes(ThreadCache& cache) {
  std::vector<void*> slots;
  for (std::uint8_t cls = 1; cls <= kClassCount; ++cls) {
    for (int i = 0; i < 10; ++i) slots.push_back(allocate(cache, {cls}));
  }
  for (void* const slot : slots) EXPECT_EQ(deallocate(cache, slot), nullptr);
}

TEST_F(DrainTest, WhatASleepingThreadHasCachedGoesHome) {
  if (!kernel_tells() || is_seen_as_race()) GTEST_SKIP();
  Worker worker;
  worker.run([&] { use_all_classes(worker.cache()); });
  EXPECT_GE(cached_slots(), 10U * (kClassCount - 4)) << "of the largest, a magazine holds fewer";
  worker.wait_until_asleep();
  EXPECT_EQ(drain_other_caches(), nullptr);
  EXPECT_LE(cached_slots(), kClassCount) << "the topmost of each magazine stays";
  worker.run([&] { use_all_classes(worker.cache()); });
  registry.for_each([](Arena& arena) { arena.check_invariants(); });
}

TEST_F(DrainTest, AThreadThatGoesOnUsingItsCacheIsNotIdle) {
  if (!kernel_tells() || is_seen_as_race()) GTEST_SKIP();
  Worker worker;
  for (int round = 0; round < 3; ++round) {
    worker.run([&] { use_all_classes(worker.cache()); });
    worker.wait_until_asleep();
    EXPECT_EQ(drain_idle_caches(), nullptr);
    EXPECT_GT(cached_slots(), kClassCount) << "it was busy since the last time";
  }
  EXPECT_EQ(drain_idle_caches(), nullptr);
  EXPECT_LE(cached_slots(), kClassCount);
}

TEST_F(DrainTest, SlotsOfOtherArenasGoHomeToo) {
  if (!kernel_tells() || is_seen_as_race()) GTEST_SKIP();
  ThreadCache mine;
  mine.attach(true);
  std::vector<void*> slots;
  for (int i = 0; i < 10; ++i) slots.push_back(allocate(mine, {1}));
  Worker worker;
  worker.run([&] {
    for (void* const slot : slots) EXPECT_EQ(deallocate(worker.cache(), slot), nullptr);
  });
  worker.wait_until_asleep();
  EXPECT_EQ(mine.flush(), nullptr);
  EXPECT_EQ(cached_slots(), 10U);
  EXPECT_EQ(drain_other_caches(), nullptr);
  EXPECT_EQ(cached_slots(), 0U);
  EXPECT_EQ(mine.end(), nullptr);
}

// What fork leaves of a thread, without its code's going on.
void vanish(ThreadCache& left) {
  registry.keep_only(left.arena());
  left.after_fork_in_child();
  note_vanished_caches();
}

void use_and_vanish(CacheRules rules) {
  ThreadCache left;
  left.attach(true);
  ThreadCache gone;
  gone.attach(true, rules);
  void* const remote = allocate(left, {3});
  use_all_classes(gone);
  EXPECT_EQ(deallocate(gone, remote), nullptr);
  vanish(left);
  gone = ThreadCache();  // its stack is another thread's now
  EXPECT_GE(cached_slots(), 8U * (kClassCount - 4));
  take_back_vanished_caches();
  EXPECT_EQ(cached_slots(), size_class(ClassIndex{3}).batch - 1U) << "of the thread that is left";
  EXPECT_EQ(left.end(), nullptr);
  EXPECT_EQ(cached_slots(), 0U);
  registry.for_each([](Arena& arena) { arena.check_invariants(); });
}

TEST_F(DrainTest, WhatVanishedThreadsHadCachedGoesHome) { use_and_vanish({}); }

TEST_F(DrainTest, WhatVanishedThreadsHadCachedGoesHomeWhereHardened) {
  use_and_vanish({.lever = true, .random = true, .quarantine = true, .sample_interval = 0});
}

TEST_F(DrainTest, AVanishedThreadsStoreIsUsedAgain) {
  ThreadCache left;
  left.attach(true);
  ThreadCache gone;
  gone.attach(true);
  vanish(left);
  EXPECT_TRUE(store_pool.has_vanished());
  take_back_vanished_caches();
  EXPECT_FALSE(store_pool.has_vanished());
  const std::size_t mapped = fake::mapped_bytes();
  ThreadCache next;
  next.attach(true);
  EXPECT_EQ(fake::mapped_bytes(), mapped);
  EXPECT_EQ(next.end(), nullptr);
}

TEST_F(DrainTest, AThreadThatIsAwakeDoesItItself) {
  Worker worker;
  std::atomic<bool> stop{false};
  std::atomic<bool> ready{false};
  std::thread drainer([&] {
    while (!ready) std::this_thread::yield();
    drain_other_caches();
    stop = true;
  });
  worker.run([&] {
    use_all_classes(worker.cache());
    ready = true;
    while (!stop) std::atomic_signal_fence(std::memory_order_seq_cst);
    // The next give that takes the slow path: a class's first.
    void* const slot = allocate(worker.cache(), {1});
    MagazineStore* store = nullptr;
    store_pool.for_each_used([&](MagazineStore& used) { store = &used; });
    EXPECT_TRUE(store->use.asked);
    EXPECT_EQ(worker.cache().give_slow(slot, {1}, worker.cache().arena()->id()), nullptr);
    EXPECT_FALSE(store->use.asked);
    EXPECT_EQ(cached_slots(), 0U);
  });
  drainer.join();
}

// Each slot that is handed out is filled with its owner's byte; whoever finds another byte in it shares it.
class Churn {
 public:
  Churn(ThreadCache& cache, unsigned char byte) : cache_(cache), byte_(byte), random_(byte) {}

  void step() {
    void*& place = slots_[random_() % std::size(slots_)];
    const ClassIndex cls{static_cast<std::uint8_t>(1 + random_() % 6)};
    if (place == nullptr) {
      place = allocate(cache_, cls);
      std::memset(place, byte_, size_class(cls).slot_size);
      sizes_[&place - slots_] = size_class(cls).slot_size;
    } else {
      const auto* const bytes = static_cast<const unsigned char*>(place);
      for (std::size_t index = 0; index < sizes_[&place - slots_]; ++index) ASSERT_EQ(bytes[index], byte_);
      ASSERT_EQ(deallocate(cache_, place), nullptr);
      place = nullptr;
    }
  }
  void end() {
    for (void* const slot : slots_) {
      EXPECT_TRUE(slot == nullptr || deallocate(cache_, slot) == nullptr);
    }
  }

 private:
  ThreadCache& cache_;
  unsigned char byte_;
  std::minstd_rand random_;
  void* slots_[300] = {};
  std::size_t sizes_[300] = {};
};

void nap_in_handler(int) { os::nap(100); }

// Threads that sleep now and then, and are put to sleep by signals anywhere, in the fast paths too.
TEST_F(DrainTest, NoSlotIsHandedOutTwiceWhileThreadsAreDrained) {
  if (is_seen_as_race()) GTEST_SKIP();
  constexpr int kThreads = 3;
  constexpr std::uint64_t kMicroseconds = 1'500'000;
  struct sigaction action {};
  action.sa_handler = nap_in_handler;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&stop, index] {
      ThreadCache cache;
      cache.attach(true);
      Churn churn(cache, static_cast<unsigned char>(index + 1));
      for (int step = 0; !stop; ++step) {
        churn.step();
        if (step % 5000 == 0) os::nap(200);
      }
      churn.end();
      EXPECT_EQ(cache.end(), nullptr);
    });
  }
  const std::uint64_t start = os::monotonic_microseconds();
  for (int round = 0; os::monotonic_microseconds() - start < kMicroseconds; ++round) {
    EXPECT_EQ(drain_other_caches(), nullptr);
    for (std::thread& thread : threads) pthread_kill(thread.native_handle(), SIGUSR1);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  sigaction(SIGUSR1, &before, nullptr);
  registry.for_each([](Arena& arena) {
    arena.trim(0);
    arena.check_invariants();
    EXPECT_EQ(arena.figures().live_slots, 0U);
  });
}

#if defined(__x86_64__)

// The calling thread takes single steps through `action`, and sleeps in the signal handler of the given one until
// somebody writes to wake_ends. False if the action has fewer steps.
std::atomic<std::size_t> steps_left{0};
std::atomic<bool> stopped{false};
int wake_ends[2];

void on_step(int, siginfo_t*, void* context) {
  if (--steps_left != 0) return;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
  stopped = true;
  char byte;
  while (read(wake_ends[0], &byte, 1) != 1) {
  }
}

template <typename Action>
bool stop_at_step(std::size_t step, Action action) {
  steps_left = step;
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  action();
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  return steps_left == 0;
}

// A thread is stopped at every single instruction of a take, or of a give, and drained there.
class SteppedDrainTest : public DrainTest, public ::testing::WithParamInterface<bool> {
 protected:
  SteppedDrainTest() {
    options.set(OptionIndex::arena_max, 1);
    EXPECT_EQ(pipe(wake_ends), 0);
    struct sigaction action {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    EXPECT_EQ(sigaction(SIGTRAP, &action, &before_), 0);
  }
  ~SteppedDrainTest() override {
    sigaction(SIGTRAP, &before_, nullptr);
    close(wake_ends[0]);
    close(wake_ends[1]);
  }

  // What both threads hold in the end; empty if the action has fewer steps.
  std::vector<void*> slots_after_stop(std::size_t step, bool gives, std::size_t in_magazine);

 private:
  struct sigaction before_ {};
};

constexpr ClassIndex kSteppedClass{3};

void give_home(void* slot) {
  const Heap& heap = Heap::of(slot);
  heap.map().set(heap.granule_of(slot), GranuleByte::cached(kSteppedClass));
  EXPECT_EQ(registry.find({1})->give_slots(&slot, 1), nullptr);
}

std::vector<void*> SteppedDrainTest::slots_after_stop(std::size_t step, bool gives, std::size_t in_magazine) {
  stopped = false;
  std::atomic<bool> ended{false};
  std::atomic<std::uint32_t> number{0};
  std::vector<void*> slots;
  std::thread worker([&] {
    number = os::thread_number();
    ThreadCache cache;
    cache.attach(true);
    std::vector<void*> held(4 * size_class(kSteppedClass).batch);  // the magazine is empty then
    for (void*& slot : held) slot = allocate(cache, kSteppedClass);
    for (; in_magazine != 0; --in_magazine, held.pop_back()) deallocate(cache, held.back());
    void* const given = held.back();
    bool in_time = false;
    if (gives) {
      held.pop_back();
      in_time = stop_at_step(step, [&] { deallocate(cache, given); });
    } else {
      void* taken = nullptr;
      in_time = stop_at_step(step, [&] { taken = allocate(cache, kSteppedClass); });
      held.push_back(taken);
    }
    slots = held;
    for (int i = 0; i < 300; ++i) slots.push_back(allocate(cache, kSteppedClass));
    EXPECT_EQ(cache.end(), nullptr);
    if (!in_time) slots.clear();
    ended = true;
  });
  while (!stopped && !ended) std::this_thread::yield();
  if (stopped) {
    for (int look = 0; look < 100'000 && !os::sleeps_in_system_call(number); ++look) os::nap(10);
    EXPECT_EQ(drain_other_caches(), nullptr);
    EXPECT_EQ(write(wake_ends[1], "x", 1), 1);
  }
  worker.join();
  if (slots.empty()) return slots;
  ThreadCache mine;
  mine.attach(true);
  for (int i = 0; i < 300; ++i) slots.push_back(allocate(mine, kSteppedClass));
  EXPECT_EQ(mine.end(), nullptr);
  registry.for_each([](Arena& arena) { arena.check_invariants(); });
  return slots;
}

TEST_P(SteppedDrainTest, NoSlotIsHandedOutTwice) {
  if (!kernel_tells() || is_seen_as_race()) GTEST_SKIP();
  // 0 and the capacity: the slow paths.
  for (const std::size_t in_magazine : {std::size_t{40}, std::size_t{0}, std::size_t{254}}) {
    std::size_t stops = 0;
    for (std::size_t step = 1;; step += step < 100 ? 1 : step / 8) {
      const std::vector<void*> slots = slots_after_stop(step, GetParam(), in_magazine);
      if (slots.empty()) break;
      ++stops;
      const std::set<void*> different(slots.begin(), slots.end());
      ASSERT_EQ(different.size(), slots.size()) << "stopped at step " << step;
      for (void* const slot : slots) give_home(slot);
    }
    EXPECT_GT(stops, 10U);
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, SteppedDrainTest, ::testing::Bool(),
                         [](const auto& path) { return path.param ? "Give" : "Take"; });

#endif

}  // namespace
}  // namespace arenite
