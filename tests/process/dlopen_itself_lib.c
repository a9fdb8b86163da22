// Takes room in the loader's reserve for thread-local data of libraries that are loaded late.
__thread char in_the_reserve[128] __attribute__((tls_model("initial-exec")));

char* touch(void) { return in_the_reserve; }
