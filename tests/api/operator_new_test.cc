// All replaceable operators new and delete.
#include <new>

#include "support.h"

// Not every compiler declares the sized ones by itself.
void operator delete(void*, std::size_t) noexcept;
void operator delete[](void*, std::size_t) noexcept;
void operator delete(void*, std::size_t, std::align_val_t) noexcept;
void operator delete[](void*, std::size_t, std::align_val_t) noexcept;

namespace {

using api::hide;
using api::kMib;
using std::align_val_t;
using std::nothrow;

TEST(OperatorNew, PlainAndArrayWithEveryDelete) {
  for (const std::size_t size : api::many_sizes(2 * kMib)) {
    void* block = operator new(size);
    api::expect_good_block(block, size);
    operator delete(block);
    operator delete(operator new(size), size);
    operator delete(operator new(size), nothrow);
    block = operator new[](size);
    api::expect_good_block(block, size);
    operator delete[](block);
    operator delete[](operator new[](size), size);
    operator delete[](operator new[](size), nothrow);
    if (HasFatalFailure()) return;
  }
}

TEST(OperatorNew, NothrowWithEveryDelete) {
  for (const std::size_t size : api::many_sizes(2 * kMib)) {
    void* block = operator new(size, nothrow);
    api::expect_good_block(block, size);
    operator delete(block, nothrow);
    operator delete(operator new(size, nothrow), size);
    block = operator new[](size, nothrow);
    api::expect_good_block(block, size);
    operator delete[](block, nothrow);
    operator delete[](operator new[](size, nothrow), size);
    if (HasFatalFailure()) return;
  }
}

TEST(OperatorNew, AlignedWithEveryDelete) {
  for (std::size_t number = 1; number <= 16 * kMib; number *= 2) {
    const auto alignment = static_cast<align_val_t>(number);
    for (const std::size_t size : api::Sizes{0, 1, 16, 40, 64, 200, 1000, 4096, 9000, 50000, 200000, 3000000}) {
      void* block = operator new(size, alignment);
      api::expect_good_block(block, size, number);
      operator delete(block, alignment);
      operator delete(operator new(size, alignment), size, alignment);
      operator delete(operator new(size, alignment), alignment, nothrow);
      block = operator new[](size, alignment);
      api::expect_good_block(block, size, number);
      operator delete[](block, alignment);
      operator delete[](operator new[](size, alignment), size, alignment);
      operator delete[](operator new[](size, alignment), alignment, nothrow);
      block = operator new(size, alignment, nothrow);
      api::expect_good_block(block, size, number);
      operator delete(block, alignment, nothrow);
      block = operator new[](size, alignment, nothrow);
      api::expect_good_block(block, size, number);
      operator delete[](block, alignment, nothrow);
      if (HasFatalFailure()) return;
    }
  }
}

void* null_block() { return hide(static_cast<void*>(nullptr)); }

TEST(OperatorDelete, OfNullIsNothing) {
  operator delete(null_block());
  operator delete[](null_block());
  operator delete(null_block(), nothrow);
  operator delete[](null_block(), nothrow);
  operator delete (null_block(), std::size_t{10});
  operator delete[](null_block(), std::size_t{10});
  operator delete (null_block(), align_val_t{64});
  operator delete[](null_block(), align_val_t{64});
  operator delete (null_block(), std::size_t{10}, align_val_t{64});
  operator delete[](null_block(), std::size_t{10}, align_val_t{64});
  operator delete (null_block(), align_val_t{64}, nothrow);
  operator delete[](null_block(), align_val_t{64}, nothrow);
}

TEST(OperatorDelete, LeavesErrnoAlone) {
  for (const std::size_t size : api::Sizes{1, 3000, 40000, 5000000}) {
    void* const block = operator new(size);
    errno = 4711;
    operator delete(block, size);
    EXPECT_EQ(errno, 4711);
  }
}

struct alignas(128) Wide {
  char bytes[300];
};

struct Counted {
  static inline int live = 0;
  long values[5];
  Counted() { ++live; }
  ~Counted() { --live; }
};

TEST(OperatorNew, ExpressionsOfTheLanguage) {
  for (std::size_t count = 1; count < 2000; count = count * 2 + 1) {
    auto* const wide = new Wide[count];
    EXPECT_TRUE(api::aligned_to(wide, 128));
    delete[] wide;
    auto* const counted = new Counted[count];
    EXPECT_EQ(Counted::live, static_cast<int>(count));
    delete[] counted;
    EXPECT_EQ(Counted::live, 0);
    delete new Wide;
    delete new (nothrow) Counted;
  }
}

TEST(OperatorNew, TooLargeThrowsBadAlloc) {
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
    EXPECT_THROW(static_cast<void>(operator new(hide(size))), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(operator new[](hide(size))), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(operator new (hide(size), align_val_t{64})), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(operator new[](hide(size), align_val_t{4096})), std::bad_alloc);
    EXPECT_EQ(operator new(hide(size), nothrow), nullptr);
    EXPECT_EQ(operator new[](hide(size), nothrow), nullptr);
    EXPECT_EQ(operator new (hide(size), align_val_t{64}, nothrow), nullptr);
    EXPECT_EQ(operator new[](hide(size), align_val_t{4096}, nothrow), nullptr);
  }
}

TEST(OperatorNew, BadAllocHasItsText) {
  try {
    operator delete(operator new(hide(SIZE_MAX)));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "std::bad_alloc");
  }
}

int handler_calls = 0;

void give_up_after_five() {
  if (++handler_calls == 5) std::set_new_handler(nullptr);
}

class Handler {
 public:
  explicit Handler(std::new_handler handler) : before_(std::set_new_handler(handler)) { handler_calls = 0; }
  ~Handler() { std::set_new_handler(before_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  std::new_handler before_;
};

TEST(NewHandler, IsCalledUntilItGivesUp) {
  const Handler guard(give_up_after_five);
  EXPECT_THROW(static_cast<void>(operator new(hide(SIZE_MAX / 2))), std::bad_alloc);
  EXPECT_EQ(handler_calls, 5);
}

TEST(NewHandler, IsCalledByEveryForm) {
  const auto expect_five_calls = [](auto allocate) {
    const Handler guard(give_up_after_five);
    EXPECT_THROW(allocate(hide(SIZE_MAX / 2)), std::bad_alloc);
    EXPECT_EQ(handler_calls, 5);
  };
  expect_five_calls([](std::size_t size) { return operator new[](size); });
  expect_five_calls([](std::size_t size) { return operator new (size, align_val_t{64}); });
  expect_five_calls([](std::size_t size) { return operator new[](size, align_val_t{64}); });
  const auto expect_five_calls_and_null = [](auto allocate) {
    const Handler guard(give_up_after_five);
    EXPECT_EQ(allocate(hide(SIZE_MAX / 2)), nullptr);
    EXPECT_EQ(handler_calls, 5);
  };
  expect_five_calls_and_null([](std::size_t size) { return operator new(size, nothrow); });
  expect_five_calls_and_null([](std::size_t size) { return operator new[](size, nothrow); });
  expect_five_calls_and_null([](std::size_t size) { return operator new (size, align_val_t{64}, nothrow); });
  expect_five_calls_and_null([](std::size_t size) { return operator new[](size, align_val_t{64}, nothrow); });
}

struct OwnException {};

void throw_own_exception() {
  ++handler_calls;
  throw OwnException();
}

void throw_bad_alloc() {
  ++handler_calls;
  throw std::bad_alloc();
}

TEST(NewHandler, MayThrowWhatItLikes) {
  const Handler guard(throw_own_exception);
  EXPECT_THROW(static_cast<void>(operator new(hide(SIZE_MAX / 2))), OwnException);
  EXPECT_THROW(static_cast<void>(operator new[](hide(SIZE_MAX / 2), align_val_t{32})), OwnException);
  EXPECT_EQ(handler_calls, 2);
}

TEST(NewHandler, NothrowTurnsItsBadAllocIntoNull) {
  const Handler guard(throw_bad_alloc);
  EXPECT_EQ(operator new(hide(SIZE_MAX / 2), nothrow), nullptr);
  EXPECT_EQ(operator new[](hide(SIZE_MAX / 2), nothrow), nullptr);
  EXPECT_EQ(operator new (hide(SIZE_MAX / 2), align_val_t{64}, nothrow), nullptr);
  EXPECT_EQ(operator new[](hide(SIZE_MAX / 2), align_val_t{64}, nothrow), nullptr);
  EXPECT_EQ(handler_calls, 4);
}

TEST(NewHandler, IsNotCalledByMalloc) {
  const Handler guard(throw_bad_alloc);
  EXPECT_EQ(malloc(hide(SIZE_MAX / 2)), nullptr);
  EXPECT_EQ(calloc(hide(SIZE_MAX / 2), 1), nullptr);
  EXPECT_EQ(aligned_alloc(64, hide(SIZE_MAX / 2)), nullptr);
  EXPECT_EQ(handler_calls, 0);
}

TEST(OperatorNew, AndMallocShareOneHeap) {
  if (api::is_hardened()) GTEST_SKIP() << "there the kinds are told apart";
  free(operator new(100));
  free(operator new[](40000));
  free(operator new (100, align_val_t{256}));
  operator delete(malloc(100));
  operator delete[](calloc(100, 100));
  operator delete (aligned_alloc(512, 100), align_val_t{512});
  void* const block = realloc(operator new(10), 100000);
  EXPECT_NE(block, nullptr);
  operator delete(block);
}

}  // namespace
