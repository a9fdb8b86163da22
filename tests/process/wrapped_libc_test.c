// The program has its own open, read, mmap, clock_gettime, getenv, sysconf and so on, and each of them allocates, as
// tracers and time fakers do. The allocator must neither recurse into itself through them nor hang.
// TEST-FLAGS: -rdynamic
#include "support.h"

static int depth;
static int deepest;
static int calls;

enum { kTooDeep = 100 };

static void wrapped(void) {
  const int now = __atomic_add_fetch(&depth, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (now > deepest) deepest = now;
  if (now < kTooDeep) {
    void* const small = malloc(120);
    void* const large = malloc(90000);
    free(hide(small));
    free(hide(large));
  }
  __atomic_sub_fetch(&depth, 1, __ATOMIC_RELAXED);
}

int open(const char* path, int flags, ...) {
  wrapped();
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

int open64(const char* path, int flags, ...) {
  wrapped();
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

int openat(int folder, const char* path, int flags, ...) {
  wrapped();
  return (int)syscall(SYS_openat, folder, path, flags, 0600);
}

ssize_t read(int fd, void* bytes, size_t size) {
  wrapped();
  return syscall(SYS_read, fd, bytes, size);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  wrapped();
  return syscall(SYS_write, fd, bytes, size);
}

int close(int fd) {
  wrapped();
  return (int)syscall(SYS_close, fd);
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  wrapped();
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void* mmap64(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  wrapped();
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

int munmap(void* address, size_t size) {
  wrapped();
  return (int)syscall(SYS_munmap, address, size);
}

int mprotect(void* address, size_t size, int protection) {
  wrapped();
  return (int)syscall(SYS_mprotect, address, size, protection);
}

int madvise(void* address, size_t size, int advice) {
  wrapped();
  return (int)syscall(SYS_madvise, address, size, advice);
}

int prctl(int option, ...) {
  (void)option;
  wrapped();
  errno = EINVAL;
  return -1;
}

ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  wrapped();
  return syscall(SYS_getrandom, bytes, size, flags);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  wrapped();
  return (int)syscall(SYS_clock_gettime, clock, time);
}

char* getenv(const char* name) {
  (void)name;
  wrapped();
  return NULL;
}

char* secure_getenv(const char* name) {
  (void)name;
  wrapped();
  return NULL;
}

long sysconf(int name) {
  wrapped();
  switch (name) {
    case _SC_PAGESIZE:
      return 4096;
    case _SC_NPROCESSORS_ONLN:
    case _SC_NPROCESSORS_CONF:
      return 2;
    case _SC_PHYS_PAGES:
      return 1 << 20;
    default:
      return -1;
  }
}

int getpagesize(void) {
  wrapped();
  return 4096;
}

int sched_getcpu(void) {
  wrapped();
  return 0;
}

int sched_yield(void) {
  wrapped();
  return (int)syscall(SYS_sched_yield);
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t* set) {
  wrapped();
  return syscall(SYS_sched_getaffinity, process, size, set) < 0 ? -1 : 0;
}

pid_t getpid(void) {
  wrapped();
  return (pid_t)syscall(SYS_getpid);
}

pid_t gettid(void) {
  wrapped();
  return (pid_t)syscall(SYS_gettid);
}

static void hung(int signal_number) {
  (void)signal_number;
  static const char text[] = "hung: the allocator and a wrapped libc function wait for each other\n";
  syscall(SYS_write, 2, text, sizeof text - 1);
  _exit(1);
}

static void before_constructors(void) {
  signal(SIGALRM, hung);
  alarm(30);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = before_constructors;

static void* body(void* argument) {
  void* blocks[300];
  for (size_t i = 0; i < 300; i++) blocks[i] = malloc(i * 40 + 1);
  for (size_t i = 0; i < 300; i++) {
    REQUIRE(blocks[i] != NULL);
    free(blocks[i]);
  }
  void* large = calloc(1, 5 * MIB);
  large = realloc(large, 9 * MIB);
  REQUIRE(large != NULL);
  free(large);
  return argument;
}

int main(void) {
  for (int round = 0; round < 20; round++) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) start_thread(&threads[i], body, NULL);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    malloc_trim(0);
    (void)mallinfo2();
  }
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body(NULL);
    _exit(0);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  if (deepest >= kTooDeep) fail("the allocator and the wrapped functions called each other %d deep", deepest);
  return 0;
}
