// A process forks at every instruction of each of the calls that change arenite's books: in a signal handler that has
// interrupted the call, and from another thread, with and without the handlers of fork. The child uses the heap, checks
// what its blocks hold, starts a thread, and ends; where it has the interrupted thread, the call goes on first, or the
// child uses the heap in the handler already.
//
// Once in 199 instructions, beginning with another one in each run; with the argument "all" at every one, which takes
// some minutes.
#include "process/work.h"
#include "stepping.h"

namespace {

constexpr size_t kSmall = 40;         // bytes: a slot
constexpr size_t kRun = 50'000;       // bytes: a run
constexpr size_t kLarge = 3'000'000;  // bytes: a large mapping
constexpr size_t kSlot = 12'000;      // bytes: a slot of which a magazine holds few
constexpr int kMany = 24;             // of them: some come from spans, and go back there

Work bystander;       // blocks that no call is about
void* blocks[kMany];  // what the calls take and give

void take(size_t size, int count) {
  for (int i = 0; i < count; i++) {
    blocks[i] = malloc(size);
    REQUIRE(blocks[i] != nullptr);
  }
}
void give(int count) {
  for (int i = 0; i < count; i++) free(blocks[i]);
}

void* take_all(void*) {
  take(kSlot, kMany);
  return nullptr;
}
void take_in_another_thread() {
  pthread_t thread;
  start_thread(&thread, take_all, nullptr);
  join_thread(thread);
}

// One of the calls to be interrupted, between what it needs and what it leaves to be done.
struct Call {
  const char* name;
  void (*before)();
  void (*call)();
  void (*after)();
};

void nothing() {}

const Call kCalls[] = {
    {"malloc, from the magazine",
     [] {
       take(kSmall, 10);
       give(10);
     },
     [] { take(kSmall, 1); }, [] { give(1); }},
    {"free, to the magazine", [] { take(kSmall, 1); }, [] { give(1); }, nothing},
    {"malloc, many slots", nothing, [] { take(kSlot, kMany); }, [] { give(kMany); }},
    {"free, many slots", [] { take(kSlot, kMany); }, [] { give(kMany); }, nothing},
    {"free, slots of another thread", take_in_another_thread, [] { give(kMany); }, nothing},
    {"malloc and free, a run", nothing,
     [] {
       take(kRun, 1);
       give(1);
     },
     nothing},
    {"malloc and free, a large mapping", nothing,
     [] {
       take(kLarge, 1);
       give(1);
     },
     nothing},
    {"realloc, a large mapping", [] { take(kLarge, 1); },
     [] {
       blocks[0] = realloc(blocks[0], 2 * kLarge);
       REQUIRE(blocks[0] != nullptr);
     },
     [] { give(1); }},
    {"malloc_trim",
     [] {
       take(kSlot, kMany);
       give(kMany);
     },
     [] { malloc_trim(0); }, nothing},
    {"mallinfo2", nothing, [] { REQUIRE(mallinfo2().uordblks != 0); }, nothing},
};

void* use_heap(void*) {
  for (size_t size = 10; size < 100'000; size *= 3) {
    void* const block = malloc(size);
    REQUIRE(block != nullptr);
    memset(block, 1, size < 4096 ? size : 4096);
    free(block);
  }
  return nullptr;
}

const char* call_name = "";
long step_here = 0;
long every = 199;  // instructions from one fork to the next
long phase = 0;
long forks = 0;
bool is_child = false;

// What a child does with its heap. The interrupted call may have had some slots on their way: they are lost, not handed
// out twice.
void check_child() {
  for (size_t slot = 0; slot < kBlocks; slot++) check_block(&bystander, slot);
  for (int i = 0; i < 50; i++) step(&bystander);
  malloc_trim(0);
  void* const large = malloc(kLarge);
  REQUIRE(large != nullptr);
  memset(large, 1, 100);
  free(large);
  if (forks % 8 == 0) {
    pthread_t thread;
    start_thread(&thread, use_heap, nullptr);
    join_thread(thread);
  }
  end_work(&bystander);
}

void expect_good(pid_t child, const char* how, bool may_crash = false) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const bool crashed = status == SIGABRT || status == SIGSEGV;
  if (status != 0 && !(may_crash && crashed))
    fail("%s, %s, step %ld: the child ended with status 0x%x", how, call_name, step_here, status);
  forks++;
}

// --- in a signal handler that has interrupted the call

// What no program may do, and some do: it works where the interrupted call is not in the middle of anything. Elsewhere
// the process ends, as a rule with a message; it does not hang.
void use_heap_in_handler() {
  alarm(30);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
  for (int i = 0; i < 20; i++) {
    void* const slot = malloc(kSlot);
    free(malloc(kSmall));
    free(slot);
  }
  free(malloc(kRun));
  malloc_trim(0);
}

bool fork_here() {
  if (steps % every != phase) return true;
  step_here = steps;
  const bool in_handler = forks % 4 == 3;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child != 0) {
    expect_good(child, "fork in a handler", in_handler);
    return true;
  }
  if (in_handler) {
    use_heap_in_handler();
    _exit(0);
  }
  alarm(30);
  is_child = true;
  return false;  // the call goes on
}

void fork_in_handlers(const Call& call) {
  call_name = call.name;
  at_step = fork_here;
  call.before();
  start_steps();
  call.call();
  end_steps();
  if (is_child) {
    check_child();
    _exit(0);
  }
  call.after();
}

// --- from another thread

enum class Turn { kStepping, kForking, kEnd };
std::atomic<Turn> turn{Turn::kStepping};

bool wait_for_fork() {
  if (steps % every != phase) return true;
  step_here = steps;
  turn = Turn::kForking;
  while (turn == Turn::kForking) sched_yield();
  return true;
}

void* step_through(void* argument) {
  const Call& call = *static_cast<const Call*>(argument);
  call.before();
  start_steps();
  call.call();
  end_steps();
  call.after();
  turn = Turn::kEnd;
  return nullptr;
}

// The destructor of a key that is younger than arenite's runs after arenite's end of the thread.
pthread_key_t end_key;
void end_of_thread(void*) {
  end_steps();
  turn = Turn::kEnd;
}

void* step_through_first_and_last_call(void*) {
  REQUIRE(pthread_setspecific(end_key, &end_key) == 0);
  start_steps();
  free(malloc(kSmall));
  return nullptr;
}

enum class How { kHandlers, kSystemCall };

// Fork waits where the stepping thread holds a lock. The next instructions are most likely in the same stretch: most of
// them are left to the forks that do not wait.
void fork_from_outside(const char* name, void* (*body)(void*), const void* argument, How how) {
  constexpr double kWaited = 0.05;
  call_name = name;
  at_step = wait_for_fork;
  turn = Turn::kStepping;
  pthread_t thread;
  start_thread(&thread, body, const_cast<void*>(argument));
  long next = 0;
  for (;; turn = Turn::kStepping) {
    while (turn == Turn::kStepping) sched_yield();
    if (turn == Turn::kEnd) break;
    if (step_here < next) continue;
    const double start = seconds_now();
    const pid_t child = how == How::kHandlers ? fork() : raw_fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(30);
      check_child();
      _exit(0);
    }
    if (how == How::kHandlers && seconds_now() - start > kWaited) next = step_here + 40 * every;
    expect_good(child, how == How::kHandlers ? "fork" : "fork without handlers");
  }
  join_thread(thread);
}

}  // namespace

int main(int argc, char** argv) {
  if (!kCanStep) return 0;
  if (is_hardened()) every *= 5;  // blocks are filled then
  if (argc > 1 && strcmp(argv[1], "all") == 0) every = 1;
  phase = (long)(seconds_now() * 1e6) % every;
  set_up_steps();
  bystander.random = 1;
  for (int i = 0; i < 2000; i++) step(&bystander);
  for (const Call& call : kCalls) fork_in_handlers(call);
  take_in_another_thread();  // there are threads from here on
  give(kMany);
  REQUIRE(pthread_key_create(&end_key, end_of_thread) == 0);
  for (const How how : {How::kSystemCall, How::kHandlers}) {
    for (const Call& call : kCalls) fork_from_outside(call.name, step_through, &call, how);
    fork_from_outside("the first call of a thread, and its end", step_through_first_and_last_call, nullptr, how);
  }
  end_work(&bystander);
  printf("%ld forks\n", forks);
  return 0;
}
