// Reports come out whole where it is hard to report: in a signal handler, in a forked child, on a small or a smashed
// stack, with stderr closed, while the program's own handler of SIGABRT uses the heap or is wrong again.
#include "reported.h"

static void expect_abort(void (*body)(void), const char* first_line, const char* what) {
  const int status = run_reported(body);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) fail("%s: ended with status 0x%x: %s", what, status, text);
  if (strncmp(text, first_line, strlen(first_line)) != 0) fail("%s: reported: %s", what, text);
}

static const char double_free_line[] = "free(): double free detected in tcache 2\narenite: 0x";

static void free_twice(void) {
  void* const block = hide(malloc(40));
  free(block);
  free(hide(block));
}

static void free_twice_in_handler(int signal) {
  (void)signal;
  free_twice();
}

static void in_signal_handler(void) {
  signal(SIGUSR1, free_twice_in_handler);
  raise(SIGUSR1);
}

static void* thread_body(void* argument) {
  free_twice();
  return argument;
}

static void on_small_stack(void) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 16384) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, thread_body, NULL) == 0);
  pthread_join(thread, NULL);
}

// What lies above the frame of the caller, its saved registers and return address among it, becomes garbage.
__attribute__((noinline)) static void smash_and_free(void) {
  void* const block = hide(malloc(40));
  free(block);
  volatile uintptr_t* const words = (volatile uintptr_t*)__builtin_frame_address(0);
  for (int i = 0; i < 64; i++) words[i] = 0x4141414141414141;
  free(hide(block));
}

static void with_smashed_stack(void) {
  volatile char room[4096];
  hide((void*)room);
  smash_and_free();
}

static void with_stderr_closed(void) {
  close(2);
  free_twice();
}

static void use_heap_in_handler(int signal) {
  (void)signal;
  for (size_t size = 1; size < 100000; size *= 2) free(hide(malloc(size)));
  static const char line[] = "handled\n";
  if (write(2, line, sizeof line - 1) < 0) _exit(9);
}

static void with_handler_that_allocates(void) {
  signal(SIGABRT, use_heap_in_handler);
  free_twice();
}

static void with_handler_that_is_wrong_again(void) {
  signal(SIGABRT, free_twice_in_handler);
  free_twice();
}

static pthread_barrier_t barrier;

static void* wait_and_free_twice(void* argument) {
  pthread_barrier_wait(&barrier);
  free_twice();
  return argument;
}

static void in_four_threads_at_once(void) {
  pthread_t threads[4];
  mallopt(M_CHECK_ACTION, 1);
  pthread_barrier_init(&barrier, NULL, 4);
  for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, wait_and_free_twice, NULL) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static int count_of(const char* word) {
  int count = 0;
  for (const char* at = text; (at = strstr(at, word)) != NULL; at++) count++;
  return count;
}

// The whole text stands where crash tools look for it: see os/abort_message.
static void find_text_in_core(int signal) {
  (void)signal;
  char* const* const message = (char* const*)dlsym(RTLD_DEFAULT, "__abort_msg");
  const int found = message != NULL && *message != NULL && strstr(*message + sizeof(int), "double free") != NULL;
  if (write(2, found ? "found\n" : "missing\n", found ? 6 : 8) < 0) _exit(9);
}

static void for_crash_tools(void) {
  signal(SIGABRT, find_text_in_core);
  free_twice();
}

int main(void) {
  expect_abort(free_twice, double_free_line, "plain, in a forked child");
  if (strstr(text, "called from") == NULL || strstr(text, "process_report+0x") == NULL) fail("no calls: %s", text);
  expect_abort(in_signal_handler, double_free_line, "in a signal handler");
  expect_abort(on_small_stack, double_free_line, "on a small stack");
  expect_abort(with_smashed_stack, double_free_line, "on a smashed stack");
  expect_abort(with_stderr_closed, "", "with stderr closed");
  REQUIRE(text[0] == 0);
  expect_abort(with_handler_that_allocates, double_free_line, "with a handler that allocates");
  REQUIRE(count_of("handled\n") == 1);
  expect_abort(with_handler_that_is_wrong_again, double_free_line, "with a handler that is wrong again");
  REQUIRE(count_of("double free") == 1 && count_of("arenite: misuse inside of a report\n") == 1);
  REQUIRE(WIFEXITED(run_reported(in_four_threads_at_once)));
  REQUIRE(count_of("double free detected") == 4 && count_of("called from") == 4);
  expect_abort(for_crash_tools, double_free_line, "for crash tools");
  if (dlsym(RTLD_DEFAULT, "__abort_msg") != NULL) REQUIRE(count_of("found\n") == 1);
  return 0;
}
