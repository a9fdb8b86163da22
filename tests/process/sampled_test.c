// A sampled block tells of each kind of misuse, with who allocated and who freed it; the process ends as it would
// without. A handler that the program has, and a program that makes no mistake, notice nothing.
// TEST-PRELOAD: no
#include "reported.h"

enum { kBlocks = 300, kSize = 100 };

__attribute__((noinline)) static unsigned char* take(void) {
  unsigned char* const block = (unsigned char*)hide(malloc(kSize));
  memset(block, 1, kSize);
  return block;
}

__attribute__((noinline)) static void give(void* block) {
  free(block);
  __asm__ volatile("");
}

static unsigned char seen;
static void look(const unsigned char* at) { seen = *(const volatile unsigned char*)at; }

// Each is done with many blocks, so that a sampled one is among them.
static void read_freed(unsigned char* block) {
  give(block);
  look(block + 3);
}
static void write_freed(unsigned char* block) {
  give(block);
  block[kSize - 1] = 2;
}
static void read_behind(unsigned char* block) {
  look(block + kSize + 12);
  give(block);
}
static void read_in_front(unsigned char* block) {
  look(block - 1);
  give(block);
}
static void write_behind(unsigned char* block) {
  block[kSize] = 0;
  give(block);
}
static void free_again(unsigned char* block) {
  give(block);
  give(block);
}
static void free_inside(unsigned char* block) { give(block + 16); }
static void be_right(unsigned char* block) {
  unsigned char* const other = (unsigned char*)hide(realloc(block, kSize / 2));
  REQUIRE(other != NULL && malloc_usable_size(other) >= kSize / 2);
  for (int i = 0; i < kSize / 2; i++) REQUIRE(other[i] == 1);
  unsigned char* const zeroed = (unsigned char*)hide(calloc(10, 30));
  for (int i = 0; i < 300; i++) REQUIRE(zeroed[i] == 0);
  give(zeroed);
  give(other);
}

struct Case {
  const char* name;
  void (*body)(unsigned char* block);
  int signal;
  const char* expected[4];
};

static const char freed_line[] = "freed by thread ";
static const char taken_line[] = "allocated by thread ";
static const struct Case cases[] = {
    {"read_freed",
     read_freed,
     SIGSEGV,
     {"memory was used after it had been freed\n", "3 bytes inside a freed sampled block of 100 bytes", taken_line,
      freed_line}},
    {"write_freed",
     write_freed,
     SIGSEGV,
     {"memory was used after it had been freed\n", "99 bytes inside a freed sampled block of 100 bytes", taken_line,
      freed_line}},
    {"read_behind",
     read_behind,
     SIGSEGV,
     {"memory was used outside of a block\n", "12 bytes behind the end of a live sampled block of 100 bytes",
      taken_line, taken_line}},
    {"read_in_front",
     read_in_front,
     SIGSEGV,
     {"memory was used outside of a block\n", "1 bytes in front of a live sampled block of 100 bytes", taken_line,
      taken_line}},
    {"write_behind",
     write_behind,
     SIGABRT,
     {"free(): invalid next size (normal)\n", ": live sampled block of 100 bytes", "have been overwritten",
      taken_line}},
    {"free_again",
     free_again,
     SIGABRT,
     {"free(): double free detected in tcache 2\n", ": freed sampled block of 100 bytes", taken_line, freed_line}},
    {"free_inside",
     free_inside,
     SIGABRT,
     {"free(): invalid pointer\n", "16 bytes inside a live sampled block of 100 bytes", taken_line, taken_line}},
    {"be_right", be_right, 0, {"", "", "", ""}},
};

static const struct Case* which;

// Misuse only of a sampled block, of the first that stands where the misuse is seen.
static void run_case(void) {
  for (int i = 0; i < 64 * kBlocks; i++) {
    unsigned char* const block = take();
    const int is_sampled = malloc_usable_size(block) == kSize;  // others are as large as their class
    const int is_at_start = (uintptr_t)block % 4096 == 0;
    if (which->body == be_right) {
      be_right(block);
    } else if (is_sampled && (which->body != read_in_front || is_at_start) &&
               (which->body != read_behind || !is_at_start)) {
      which->body(block);
    } else {
      give(block);
    }
  }
}

static void start_case(void) {
  setenv("LD_PRELOAD", getenv("TEST_LIB"), 1);
  setenv("ARENITE_OPTIONS", "harden=1,+sampled:sample_interval=10", 1);
  execl("/proc/self/exe", "/proc/self/exe", which->name, (char*)NULL);
  _exit(9);
}

int main(int argc, char** argv) {
  enum { kCases = sizeof cases / sizeof *cases };
  if (argc > 1) {
    for (int i = 0; i < kCases; i++) {
      if (strcmp(cases[i].name, argv[1]) != 0) continue;
      which = &cases[i];
      run_case();
    }
    return 0;
  }
  if (getenv("TEST_LIB") == NULL) fail("TEST_LIB is not set");
  unsetenv("LD_PRELOAD");
  for (int i = 0; i < kCases; i++) {
    which = &cases[i];
    const int status = run_reported(start_case);
    if ((WIFSIGNALED(status) ? WTERMSIG(status) : 0) != which->signal || (which->signal == 0 && status != 0)) {
      fail("%s: ended with status 0x%x: %s", which->name, status, text);
    }
    if (which->signal == 0 && text[0] != 0) fail("%s: printed: %s", which->name, text);
    for (int line = 0; line < 4; line++) {
      if (strstr(text, which->expected[line]) == NULL) {
        fail("%s: no \"%s\" in: %s", which->name, which->expected[line], text);
      }
    }
  }
  return 0;
}
