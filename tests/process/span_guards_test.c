// With guards behind spans, a loop that runs out of a small block, up or down, faults before it has come far, and the
// report says where.
#include "reported.h"

enum { kBlocks = 300, kFarthest = 512 * 1024 };

static size_t size;
static int step;

static void stray(void) {
  unsigned char* blocks[kBlocks];
  for (int i = 0; i < kBlocks; i++) blocks[i] = (unsigned char*)hide(malloc(size));
  volatile unsigned char* at = blocks[kBlocks / 2];
  for (int i = 0; i < kFarthest; i++, at += step) *at = 0x41;
}

int main(void) {
  static const size_t sizes[] = {1, 16, 100, 500, 1000, 5000, 20000, 30000};
  run_with_options("harden=3");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size = sizes[i];
    for (step = -1; step <= 1; step += 2) {
      const int status = run_reported(stray);
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) {
        fail("size %zu, step %d: ended with status 0x%x: %s", size, step, status, text);
      }
      const int is_guard = strstr(text, ": in a guard") != NULL || strstr(text, ": in the guarded head") != NULL;
      if (strncmp(text, "memory was used outside of a block\n", 35) != 0 || !is_guard) {
        fail("size %zu, step %d: reported: %s", size, step, text);
      }
    }
  }
  return 0;
}
