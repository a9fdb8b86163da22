#include "os/fault_handler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/bits.h"

namespace arenite::os {
namespace {

void print(const char* text) {
  if (write(2, text, std::strlen(text)) < 0) _exit(9);
}

volatile char* forbidden = nullptr;

// Each test is a process of its own: what it prints, and how it ends.
class FaultHandlerTest : public ::testing::Test {
 protected:
  FaultHandlerTest() {
    forbidden = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~FaultHandlerTest() override { munmap(const_cast<char*>(forbidden), 4096); }

  static void tell(const Fault& fault) {
    print(fault.address == address_of(const_cast<char*>(forbidden) + 5) ? "told of it\n" : "told of something else\n");
    print(fault.instruction != 0 ? "from code\n" : "from nowhere\n");
  }
};

TEST_F(FaultHandlerTest, TheActionIsCalledOnceAndTheProcessEndsAsBefore) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        install_fault_handler(tell);
        forbidden[5] = 1;
      },
      ::testing::KilledBySignal(SIGSEGV), "^told of it\nfrom code\n$");
}

TEST_F(FaultHandlerTest, AHandlerThatWasThereBeforeTakesPlaceAfterwards) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) {
          print("as before\n");
          _exit(3);
        });
        install_fault_handler(tell);
        forbidden[5] = 1;
      },
      ::testing::ExitedWithCode(3), "^told of it\nfrom code\nas before\n$");
}

TEST_F(FaultHandlerTest, ASignalThatSomebodySendsIsNoFault) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        install_fault_handler(tell);
        kill(getpid(), SIGSEGV);
        for (;;) pause();
      },
      ::testing::KilledBySignal(SIGSEGV), "^$");
}

}  // namespace
}  // namespace arenite::os
