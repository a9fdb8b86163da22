// Stands for: a worker thread of a server that handles one large request after another. An allocator that gives the
// memory of each request back at once pays with a system call, and with page faults at the next one.
//
// usage: release_loops same    1024 x: 192 KiB are allocated, touched and freed
//        release_loops mixed   1024 blocks of 0 to 57 pages; every second one is freed at once, the rest at the end
//
// The loop runs in a second thread, between two writes to a file descriptor that does not exist: whoever traces the
// program counts the system calls from "loop begins" to "loop ends".
// Prints: seconds, minor_faults of the loop, peak_kib.
#include "bench.h"

enum { kRounds = 1024, kSameBytes = 192 * 1024, kSizes = 58 };

static void* blocks[kRounds];

static void same(void) {
  for (int i = 0; i < kRounds; i++) {
    void* const block = allocate(kSameBytes);
    touch(block, kSameBytes);
    free(block);
  }
}

static void mixed(void) {
  for (int i = 0; i < kRounds; i++) {
    const size_t size = (size_t)(i % kSizes) * PAGE;
    blocks[i] = allocate(size);
    touch(blocks[i], size);
    if (i % 2 == 1) {
      free(blocks[i]);
      blocks[i] = NULL;
    }
  }
  for (int i = 0; i < kRounds; i++) free(blocks[i]);
}

static void mark(const char* text) {
  if (write(-1, text, strlen(text)) >= 0) fail("the mark was written");
}

static void* run(void* loop) {
  free(allocate(1));
  const double start = seconds_now();
  const struct usage before = usage_now();
  mark("loop begins");
  if (loop == mixed) {
    mixed();
  } else {
    same();
  }
  mark("loop ends");
  report("{\"seconds\": %.6f, \"minor_faults\": %ld, \"peak_kib\": %ld}", seconds_now() - start,
         usage_since(before).minor_faults, peak_kib());
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2 || (strcmp(argv[1], "same") != 0 && strcmp(argv[1], "mixed") != 0)) {
    fail("usage: release_loops same|mixed");
  }
  pthread_t thread;
  start_thread(&thread, run, strcmp(argv[1], "mixed") == 0 ? (void*)mixed : (void*)same);
  join_thread(thread);
  return 0;
}
