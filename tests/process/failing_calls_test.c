// Each system call for memory fails, in turn and from then on, under each function of the malloc family: the n-th call
// of mmap, munmap, mprotect, madvise and mremap, for every n until none is left. The function then gives null and
// ENOMEM or a right result; nothing is lost, nothing changes in other blocks, errno is kept where it must be, and the
// same call works once the system does. In processes where madvise or mremap are forbidden for good, everything works.
// argument: any; then every n is tried, not only the first few and each fourth, and it is printed how many pairs of
// function and n that were
#define _GNU_SOURCE 1
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "support.h"

#if defined(__x86_64__)

// --- the system
// -------------------------------------------------------------------------------------------------------

// Where the code of the library lies that malloc comes from: only its calls are trapped. libc makes some of its own
// with all signals blocked.
static uint64_t code_start, code_end;
static int note_code(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    const uint64_t end = start + info->dlpi_phdr[i].p_memsz;
    const uint64_t inside = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
    if (info->dlpi_phdr[i].p_type != PT_LOAD || inside < start || inside >= end) continue;
    code_start = start;
    code_end = end;
  }
  return 0;
}

// Calls are counted while `counts`; those from `first_failing` to `last_failing` fail.
static struct {
  int counts;
  int seen;
  int first_failing;
  int last_failing;
} faults;

static void on_call(int signal_number, siginfo_t* info, void* context) {
  (void)signal_number;
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (faults.counts) {
    const int number = __atomic_add_fetch(&faults.seen, 1, __ATOMIC_RELAXED);
    if (number >= faults.first_failing && number <= faults.last_failing) {
      registers[REG_RAX] = -ENOMEM;
      return;
    }
  }
  const int saved = errno;
  const long result = syscall(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                              registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  registers[REG_RAX] = result == -1 ? -errno : result;
  errno = saved;
}

static void install(const struct sock_filter* code, unsigned length) {
  const struct sock_fprog program = {(unsigned short)length, (struct sock_filter*)code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(0);  // a system without
}

#define FIELD(name) (unsigned)offsetof(struct seccomp_data, name)

static void trap_memory_calls(void) {
  const struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
  REQUIRE(sigaction(SIGSYS, &action, NULL) == 0);
  dl_iterate_phdr(note_code, NULL);
  REQUIRE(code_end != 0);
  if (code_start >> 32 != code_end >> 32) _exit(0);  // the filter compares halves
  const struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(code_start >> 32), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(instruction_pointer)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)code_start, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)code_end, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install(code, sizeof code / sizeof *code);
}

static void forbid(int call) {
  const struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install(code, sizeof code / sizeof *code);
}

// --- what is tried
// ---------------------------------------------------------------------------------------------------- A trial returns
// 0 if the function had no memory. It keeps nothing.

typedef struct {
  const char* name;
  int (*run)(size_t a, size_t b);
  size_t a;
  size_t b;
} Trial;

static int usable(void* block, size_t size, size_t alignment) {
  if (block == NULL) {
    if (errno != ENOMEM) fail("null, but errno is %d", errno);
    return 0;
  }
  REQUIRE(((uintptr_t)block & (alignment - 1)) == 0);
  if (size > 0) ((char*)block)[0] = ((char*)block)[size - 1] = 1;
  return 1;
}

static void release(void* block) {
  errno = 77;
  free(block);
  REQUIRE(errno == 77);
}

static int try_malloc(size_t size, size_t count) {
  void* blocks[400];
  size_t got = 0;
  errno = 0;
  while (got < count && usable(blocks[got] = malloc(size), size, 16)) got++;
  for (size_t i = 0; i < got; i++) release(blocks[i]);
  return got == count;
}

static int try_calloc(size_t size, size_t unused) {
  (void)unused;
  errno = 0;
  unsigned char* const block = (unsigned char*)calloc(size, 1);
  for (size_t i = 0; block != NULL && i < size; i += i < 4096 || i + 4096 > size ? 1 : 1021) REQUIRE(block[i] == 0);
  const int good = usable(block, size, 16);
  release(block);
  return good;
}

static int try_memalign(size_t alignment, size_t size) {
  errno = 0;
  void* const block = memalign(alignment, size);
  const int good = usable(block, size, alignment);
  release(block);
  return good;
}

static int try_posix_memalign(size_t alignment, size_t size) {
  void* block = &block;
  errno = 66;
  const int error = posix_memalign(&block, alignment, size);
  REQUIRE(errno == 66 && (error == 0 || (error == ENOMEM && block == &block)));
  if (error != 0) return 0;
  errno = ENOMEM;
  usable(block, size, alignment);
  release(block);
  return 1;
}

static int try_pages(size_t size, size_t unused) {
  (void)unused;
  errno = 0;
  void* const first = valloc(size);
  int good = usable(first, size, 4096);
  errno = 0;
  void* const second = pvalloc(size);
  good = usable(second, size, 4096) && good;
  release(first);
  release(second);
  return good;
}

// Prepared without faults, so that what is seen is the change alone.
static unsigned char* prepared(size_t size) {
  const int counts = faults.counts;
  faults.counts = 0;
  unsigned char* const block = (unsigned char*)malloc(size);
  REQUIRE(block != NULL);
  for (size_t i = 0; i < size; i += 1 + i / 512) block[i] = (unsigned char)(i * 7);
  faults.counts = counts;
  return block;
}

static void expect_prepared(const unsigned char* block, size_t size) {
  for (size_t i = 0; i < size; i += 1 + i / 512) REQUIRE(block[i] == (unsigned char)(i * 7));
}

static int try_realloc(size_t from, size_t to) {
  unsigned char* const block = prepared(from);
  errno = 0;
  unsigned char* const moved = (unsigned char*)realloc(block, to);
  const int good = moved != NULL;
  if (!good) REQUIRE(errno == ENOMEM && to > from);
  expect_prepared(good ? moved : block, good && to < from ? to : from);
  release(good ? moved : block);
  return good;
}

static int try_free(size_t size, size_t count) {
  unsigned char* blocks[400];
  for (size_t i = 0; i < count; i++) blocks[i] = prepared(size);
  for (size_t i = 0; i < count; i += 2) release(blocks[i]);
  for (size_t i = 1; i < count; i += 2) {
    expect_prepared(blocks[i], size);
    release(blocks[i]);
  }
  return 1;
}

static FILE* opened_nowhere(void) {
  static FILE* nowhere = NULL;
  const int counts = faults.counts;
  faults.counts = 0;
  if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
  REQUIRE(nowhere != NULL);
  faults.counts = counts;
  return nowhere;
}

static int try_questions(size_t unused, size_t unused_too) {
  (void)unused, (void)unused_too;
  FILE* const nowhere = opened_nowhere();
  unsigned char* const block = prepared(3000);
  REQUIRE(malloc_usable_size(block) >= 3000);
  REQUIRE(mallinfo2().uordblks >= 3000);
  REQUIRE(mallopt(M_TRIM_THRESHOLD, 128 * 1024) == 1);
  malloc_trim(0);
  REQUIRE(malloc_info(0, nowhere) == 0);
  malloc_trim(0);
  expect_prepared(block, 3000);
  release(block);
  return 1;
}

static void* first_call_of_thread(void* argument) {
  errno = 0;
  void* const block = malloc((size_t)(uintptr_t)argument);
  const int good = usable(block, (size_t)(uintptr_t)argument, 16);
  release(block);
  return good ? argument : NULL;
}

static int try_thread(size_t size, size_t unused) {
  (void)unused;
  pthread_t thread;
  if (pthread_create(&thread, NULL, first_call_of_thread, (void*)size) != 0) return 0;
  void* result = NULL;
  REQUIRE(pthread_join(thread, &result) == 0);
  return result != NULL;
}

static int try_fork(size_t size, size_t unused) {
  (void)unused;
  unsigned char* const block = prepared(size);
  const pid_t child = fork();
  if (child == 0) {
    expect_prepared(block, size);
    release(block);
    _exit(first_call_of_thread((void*)size) != NULL ? 0 : 9);
  }
  const int status = child < 0 ? 0x900 : wait_for(child, 20);
  REQUIRE(status == 0 || status == 0x900);
  release(block);
  return status == 0;
}

static const Trial trials[] = {
    {"malloc", try_malloc, 24, 1},
    {"malloc", try_malloc, 2000, 100},
    {"malloc", try_malloc, 30000, 40},
    {"malloc", try_malloc, 100000, 30},
    {"malloc", try_malloc, 1000000, 4},
    {"malloc", try_malloc, 70000000, 1},
    {"calloc", try_calloc, 100, 0},
    {"calloc", try_calloc, 50000, 0},
    {"calloc", try_calloc, 300000, 0},
    {"memalign", try_memalign, 64, 1000},
    {"memalign", try_memalign, 4096, 20000},
    {"memalign", try_memalign, 1048576, 3000},
    {"memalign", try_memalign, 134217728, 100},
    {"posix_memalign", try_posix_memalign, 256, 5000},
    {"posix_memalign", try_posix_memalign, 65536, 400000},
    {"valloc and pvalloc", try_pages, 5000, 0},
    {"realloc", try_realloc, 24, 3000},
    {"realloc", try_realloc, 3000, 24},
    {"realloc", try_realloc, 3000, 100000},
    {"realloc", try_realloc, 100000, 110000},
    {"realloc", try_realloc, 100000, 600000},
    {"realloc", try_realloc, 300000, 900000},
    {"realloc", try_realloc, 900000, 300000},
    {"realloc", try_realloc, 900000, 100},
    {"free", try_free, 100, 300},
    {"free", try_free, 40000, 30},
    {"free", try_free, 300000, 6},
    {"questions", try_questions, 0, 0},
    {"thread", try_thread, 500, 0},
    {"thread", try_thread, 500000, 0},
    {"fork", try_fork, 700, 0},
    {"fork", try_fork, 200000, 0},
};
enum { kTrials = sizeof trials / sizeof *trials, kMostFaults = 400, kRepeats = 2 };

// --- one pair
// ---------------------------------------------------------------------------------------------------------

static int run_with_faults(const Trial* trial, int first, int last) {
  faults.seen = 0;
  faults.first_failing = first;
  faults.last_failing = last;
  faults.counts = 1;
  const int good = trial->run(trial->a, trial->b);
  faults.counts = 0;
  return good;
}

static const Trial* trial_now;
static int first_now;
static void say_where(int signal_number) {
  fail("%s(%zu, %zu), failing from call %d on: signal %d", trial_now->name, trial_now->a, trial_now->b, first_now,
       signal_number);
}

// In a child. True if a call has failed.
static bool try_pair(const Trial* trial, int first, int last, bool has_neighbours) {
  trial_now = trial;
  first_now = first;
  signal(SIGABRT, say_where);
  signal(SIGALRM, say_where);
  alarm(30);
  unsigned char* neighbours[3] = {NULL};
  for (int i = 0; has_neighbours && i < 3; i++) neighbours[i] = prepared((size_t)1000 << (i * 5));
  const size_t live = has_neighbours ? mallinfo2().uordblks + mallinfo2().hblkhd : 0;
  run_with_faults(trial, first, last);
  const bool failed = faults.seen >= first;
  long size = 0;
  for (int i = 0; i < kRepeats; i++) {
    if (!trial->run(trial->a, trial->b)) fail("%s(%zu, %zu) has no memory any more", trial->name, trial->a, trial->b);
    if (i == 0) size = status_kib("VmSize");
    run_with_faults(trial, first, last);
  }
  malloc_trim(0);
  const long growth = status_kib("VmSize") - size;
  // Where munmap is refused each time, what it was to give back stays.
  if (last == first && growth > 40 * 1024) {
    fail("%s(%zu, %zu), failing from call %d on: %ld KiB more each time", trial->name, trial->a, trial->b, first,
         growth / kRepeats);
  }
  if (has_neighbours) {
    for (int i = 0; i < 3; i++) expect_prepared(neighbours[i], (size_t)1000 << (i * 5));
    const size_t now = mallinfo2().uordblks + mallinfo2().hblkhd;
    if (now > live + live / 2 + 100000) {
      fail("%s(%zu, %zu), failing from call %d on: %zu bytes live after %zu", trial->name, trial->a, trial->b, first,
           now, live);
    }
  }
  return failed;
}

static int pairs;

static void try_all(bool has_neighbours, bool every_call) {
  for (int t = 0; t < kTrials; t++) {
    // The first call of a process differs little by size.
    if (!has_neighbours && t % 4 != 0) continue;
    for (int once = 0; once < 2; once++) {
      for (int first = 1; first < kMostFaults; first += every_call || first < 4 ? 1 : 4) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) _exit(try_pair(&trials[t], first, once ? first : INT_MAX, has_neighbours) ? 3 : 0);
        const int status = wait_for(child, 60);
        if (status == 0) break;
        if (status != 0x300) fail("%s: status 0x%x at call %d", trials[t].name, (unsigned)status, first);
        pairs++;
      }
    }
  }
}

static void try_without(int call) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    forbid(call);
    for (int round = 0; round < 3; round++) {
      for (int t = 0; t < kTrials; t++) REQUIRE(trials[t].run(trials[t].a, trials[t].b));
    }
    _exit(0);
  }
  REQUIRE(wait_for(child, 60) == 0);
}

int main(int count, char** arguments) {
  (void)arguments;
  try_without(SYS_madvise);
  try_without(SYS_mremap);
  trap_memory_calls();
  try_all(false, count > 1);
  prepared(100);  // the first block of all the children from here on is not the first of the process
  try_all(true, count > 1);
  if (count > 1) printf("%d pairs\n", pairs);
  return 0;
}

#else

int main(void) { return 0; }

#endif
