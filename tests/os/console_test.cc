#include "os/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "base/checks.h"

namespace arenite::os {
namespace {

TEST(Console, EverythingIsWrittenThroughAPipeThatTakesItInPieces) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string text(300'000, 'a');
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
  std::string read_text;
  std::thread reader([&] {
    char buffer[1000];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
      read_text.append(buffer, static_cast<std::size_t>(got));
    }
  });
  write_all(ends[1], text);
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_text, text);
}

TEST(Console, ErrorsAreIgnored) {
  write_all(-1, "nobody hears this");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  write_all(ends[1], std::string(1'000'000, 'x'));  // the pipe is full long before
  close(ends[0]);
  close(ends[1]);
  write_all(kStandardError, "");
}

TEST(ConsoleDeathTest, TheProcessEndsBySigabrt) {
  EXPECT_EXIT(abort_process(), ::testing::KilledBySignal(SIGABRT), "");
}

void ignore_signal(int) {}

TEST(ConsoleDeathTest, TheEndComesAlsoWhereTheProgramHandlesOrBlocksTheSignal) {
  const auto end_against_all_wishes = [] {
    std::signal(SIGABRT, ignore_signal);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    end_process();
  };
  EXPECT_EXIT(end_against_all_wishes(), ::testing::KilledBySignal(SIGABRT), "");
}

TEST(ConsoleDeathTest, AFailedCheckSaysWhereAndWhat) {
  EXPECT_EXIT(check_failed("heap.cc", 12, "a == b"), ::testing::KilledBySignal(SIGABRT),
              "arenite: heap.cc:12: internal check failed: a == b\n");
  EXPECT_DEATH(ARENITE_CHECK(1 + 1 == 3), "arenite: console_test.cc:[0-9]+: internal check failed: 1 \\+ 1 == 3\n");
  ARENITE_CHECK(1 + 1 == 2);
  if (kBuild.debug) {
    EXPECT_DEATH(ARENITE_DCHECK(false), "internal check failed: false");
  } else {
    ARENITE_DCHECK(false);
  }
}

}  // namespace
}  // namespace arenite::os
