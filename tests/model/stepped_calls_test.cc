// Of two threads, one is stopped at an instruction of a call that changes arenite's books, and the other makes such a
// call meanwhile: in whole, or as far as it gets before it waits for the first one. For each pair of calls, in arenas
// of their own and in one that both use; and in one that is damaged, so that one of them finds it out and contains it
// in the middle of the other's call. No block may be handed out twice or be lost, and nothing hangs.
//
// At some instructions of each call, other ones in each run; with the argument "all" at every one, which takes hours.
#include <climits>

#include "process/damage.h"
#include "stepping.h"

namespace {

constexpr size_t kSlot = 12'000;      // bytes: a slot of which a magazine holds few
constexpr size_t kRun = 50'000;       // bytes: a run
constexpr size_t kLarge = 3'000'000;  // bytes: a large mapping
constexpr size_t kEnds = 8;           // bytes at both ends of a block that are filled and checked
constexpr int kMany = 8;

struct Block {
  unsigned char* start = nullptr;
  size_t size = 0;
};

void take(Block& block, size_t size, unsigned tag) {
  block = {static_cast<unsigned char*>(malloc(size)), size};
  REQUIRE(block.start != nullptr);
  fill(block.start, kEnds, tag);
  fill(block.start + size - kEnds, kEnds, tag + 1);
}
void check(const Block& block, unsigned tag) {
  if (!holds(block.start, kEnds, tag) || !holds(block.start + block.size - kEnds, kEnds, tag + 1)) {
    fail("wrong bytes in a block of %zu", block.size);
  }
}
void give(Block& block, unsigned tag) {
  if (block.start == nullptr) return;
  check(block, tag);
  free(block.start);
  block = {};
}

// One of the two threads: the one that is stepped through its call, and the one that is not.
struct Side {
  unsigned tag = 0;
  Block own[kMany];    // taken and given by the thread
  Block gifts[kMany];  // taken by the other thread, given by this one
};

void take_own(Side& side) {
  for (Block& block : side.own) take(block, kSlot, side.tag);
}
void give_own(Side& side) {
  for (Block& block : side.own) give(block, side.tag);
}
void give_gifts(Side& side) {
  for (Block& block : side.gifts) give(block, side.tag);
}
void use_run(Side& side) {
  Block run;
  take(run, kRun, side.tag);
  give(run, side.tag);
}
bool is_damaged = false;

void use_mapping(Side& side) {
  Block mapping;
  take(mapping, kLarge, side.tag);
  if (is_damaged)
    return give(mapping, side.tag);  // it may be a run, and nobody knows how long one of a contained arena is
  auto* const longer = static_cast<unsigned char*>(realloc(mapping.start, 2 * kLarge));
  REQUIRE(longer != nullptr && holds(longer, kEnds, side.tag));
  free(longer);
}
void trim(Side&) { malloc_trim(0); }
void nothing(Side&) {}

struct Call {
  const char* name;
  void (*before)(Side&);  // null: the call is the thread's first, and its end is part of it
  void (*call)(Side&);
};

const Call kCalls[] = {
    {"malloc", nothing, take_own},
    {"free", take_own, give_own},
    {"free of the other's blocks", nothing, give_gifts},
    {"a run", nothing, use_run},
    {"a large mapping", nothing, use_mapping},
    {"malloc_trim",
     [](Side& side) {
       take_own(side);
       give_own(side);
     },
     trim},
    {"a thread's life", nullptr, give_gifts},
};

// --- one pair of calls

Side sides[2];
const Call* calls_now[2];
pthread_barrier_t prepared;
std::atomic<bool> may_call[2];
std::atomic<bool> calls_on[2];
std::atomic<bool> done[2];
std::atomic<long> steps_taken;
std::atomic<pid_t> thread_number[2];
Stop stop;

bool pass() { return stop.pass(); }

// Of a key that is younger than arenite's: it runs after arenite's end of the thread.
pthread_key_t end_key;
void end_of_thread(void* which) {
  end_steps();
  auto* const side = static_cast<Side*>(which);
  if (side == &sides[0]) steps_taken = steps;
  done[side - sides] = true;
}

void* live(void* argument) {
  auto& side = *static_cast<Side*>(argument);
  const long index = &side - sides;
  const Call& call = *calls_now[index];
  Side& other = sides[1 - index];
  thread_number[index] = static_cast<pid_t>(syscall(SYS_gettid));
  REQUIRE(pthread_setspecific(end_key, &side) == 0);
  if (call.before != nullptr) {
    for (Block& block : other.gifts) {
      if (block.start == nullptr) take(block, kSlot, other.tag);
    }
    call.before(side);
  }
  pthread_barrier_wait(&prepared);
  while (!may_call[index]) sched_yield();
  calls_on[index] = true;
  if (index == 0) start_steps();
  call.call(side);
  if (call.before != nullptr) end_of_thread(&side);
  return nullptr;
}

bool is_asleep(pid_t thread) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[512];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = 0;
  const char* const behind_name = strrchr(text, ')');
  return behind_name != nullptr && behind_name[1] == ' ' && behind_name[2] == 'S';
}

void run_pair(const Call& stepped, const Call& other, long step, const Kind* kind) {
  calls_now[0] = &stepped;
  calls_now[1] = &other;
  for (int index = 0; index < 2; index++) may_call[index] = calls_on[index] = done[index] = false;
  for (int index = 0; index < 2; index++) {
    if (calls_now[index]->before != nullptr) continue;
    for (Block& block : sides[1 - index].gifts) take(block, kSlot, sides[1 - index].tag);
  }
  stop.reset(step);
  pthread_t threads[2];
  for (int index = 0; index < 2; index++) start_thread(&threads[index], live, &sides[index]);
  pthread_barrier_wait(&prepared);
  if (kind != nullptr) kind->damage(reinterpret_cast<char*>(sides[0].gifts[0].start));
  may_call[0] = true;
  while (!stop.is_stopped() && !done[0]) usleep(20);
  may_call[1] = true;
  while (!calls_on[1] || (!done[1] && !is_asleep(thread_number[1]))) usleep(5);
  stop.go_on();
  for (const pthread_t thread : threads) join_thread(thread);
  for (Side& side : sides) {
    give_own(side);
    give_gifts(side);
  }
}

// --- all pairs

long most_stops = 2;  // of one pair
long pairs = 0;

long count_steps(const Call& stepped) {
  run_pair(stepped, kCalls[0], LONG_MAX, nullptr);
  return steps_taken;
}

template <typename Action>
void for_each_stop(Action action) {
  for (const Call& stepped : kCalls) {
    const long count = count_steps(stepped);
    for (const Call& other : kCalls) {
      const long stride = count / most_stops + 1;
      const long first = 1 + static_cast<long>(seconds_now() * 1e6) % stride;
      for (long step = first; step <= count; step += stride, pairs++) action(stepped, other, step);
    }
  }
}

size_t used_bytes() {
  malloc_trim(0);
  return mallinfo2().uordblks;
}

void step_through_calls() {
  size_t before = 0;
  for_each_stop([&](const Call& stepped, const Call& other, long step) {
    run_pair(stepped, other, step, nullptr);
    const size_t now = used_bytes();
    if (before != 0 && now != before) {
      fail("%s, stopped at step %ld, and %s: %zu bytes in use, %zu before", stepped.name, step, other.name, now,
           before);
    }
    before = now;
  });
}

// In a process of its own: what is contained stays so.
void step_through_damage() {
  for_each_stop([](const Call& stepped, const Call& other, long step) {
    const Kind& kind = kinds[pairs % kKinds];
    if (!kind.is_found) return;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(30);
      mallopt(M_CHECK_ACTION, 0);
      is_damaged = true;
      run_pair(stepped, other, step, &kind);
      malloc_trim(0);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (status == 0) return;
    fail("%s: %s, stopped at step %ld, and %s: status 0x%x", kind.name, stepped.name, step, other.name,
         (unsigned)status);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (!kCanStep) return 0;
  if (is_hardened()) most_stops = 1;  // blocks are filled then, word by word
  if (argc > 1 && strcmp(argv[1], "all") == 0) most_stops = LONG_MAX;
  sides[0].tag = 10;
  sides[1].tag = 20;
  set_up_steps();
  at_step = pass;
  pthread_barrier_init(&prepared, nullptr, 3);
  REQUIRE(pthread_key_create(&end_key, end_of_thread) == 0);
  step_through_calls();
  mallopt(M_ARENA_MAX, 1);
  step_through_calls();
  step_through_damage();
  return 0;
}
