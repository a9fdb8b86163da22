// The __libc_* names that old programs and other interposers use lead to the same heap as the plain names.
#include "support.h"

namespace {

template <typename Function>
Function own(const char* name) {
  return api::lookup<Function>(name);
}

TEST(LibcNames, BlocksGoFromOneFamilyToTheOther) {
  const auto libc_malloc = own<void* (*)(std::size_t)>("__libc_malloc");
  const auto libc_calloc = own<void* (*)(std::size_t, std::size_t)>("__libc_calloc");
  const auto libc_realloc = own<void* (*)(void*, std::size_t)>("__libc_realloc");
  const auto libc_free = own<void (*)(void*)>("__libc_free");
  ASSERT_TRUE(libc_malloc != nullptr && libc_calloc != nullptr && libc_realloc != nullptr && libc_free != nullptr);
  for (const std::size_t size : api::many_sizes(api::kMib)) {
    void* const one = libc_malloc(size);
    ASSERT_GE(malloc_usable_size(one), size);
    free(one);
    libc_free(malloc(size));
    void* two = libc_calloc(size, 1);
    ASSERT_TRUE(api::all_zero(two, size));
    two = realloc(two, size + 100);
    two = libc_realloc(two, size + 5000);
    ASSERT_TRUE(api::all_zero(two, size));
    free(two);
  }
  libc_free(nullptr);
}

TEST(LibcNames, AlignedFamily) {
  const auto libc_memalign = own<void* (*)(std::size_t, std::size_t)>("__libc_memalign");
  const auto libc_valloc = own<void* (*)(std::size_t)>("__libc_valloc");
  const auto libc_pvalloc = own<void* (*)(std::size_t)>("__libc_pvalloc");
  ASSERT_TRUE(libc_memalign != nullptr && libc_valloc != nullptr && libc_pvalloc != nullptr);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const one = libc_memalign(1024, 100);
  void* const two = libc_valloc(100);
  void* const three = libc_pvalloc(100);
  api::expect_good_block(one, 100, 1024);
  api::expect_good_block(two, 100, page);
  api::expect_good_block(three, page, page);
  free(one);
  free(two);
  free(three);
}

TEST(LibcNames, MalloptAndMallinfo) {
  const auto libc_mallopt = own<int (*)(int, int)>("__libc_mallopt");
  ASSERT_NE(libc_mallopt, nullptr);
  EXPECT_EQ(libc_mallopt(4711, 0), 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const auto libc_mallinfo = own<struct mallinfo (*)()>("__libc_mallinfo");
  ASSERT_NE(libc_mallinfo, nullptr);
  EXPECT_EQ(static_cast<unsigned>(libc_mallinfo().arena), static_cast<unsigned>(mallinfo2().arena));
#pragma GCC diagnostic pop
}

TEST(LibcNames, LibcsOwnAllocationsCanBeFreed) {
  free(strdup("text"));
  char* text = nullptr;
  ASSERT_GT(asprintf(&text, "%d", 5), 0);
  free(text);
  char* line = nullptr;
  std::size_t capacity = 0;
  FILE* const file = fopen("/proc/self/maps", "r");
  ASSERT_NE(file, nullptr);
  ASSERT_GT(getline(&line, &capacity, file), 0);
  EXPECT_GE(malloc_usable_size(line), capacity);
  fclose(file);
  free(line);
  free(realpath("/proc/self/exe", nullptr));
}

}  // namespace
