// What the api tests share. The tests run with the library preloaded, so all calls go to it by the usual names; names
// that the headers of the system may not know yet are looked up.
#ifndef ARENITE_TESTS_API_SUPPORT_H
#define ARENITE_TESTS_API_SUPPORT_H

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace api {

// Whether blocks are checked more than by default.
inline bool is_hardened() {
  const char* const options = std::getenv("ARENITE_OPTIONS");
  return options != nullptr && std::strstr(options, "harden") != nullptr;
}

inline constexpr std::size_t kKib = 1024;
inline constexpr std::size_t kMib = 1024 * kKib;
inline constexpr std::size_t kAlignment = alignof(std::max_align_t);
inline constexpr std::size_t kPtrdiffMax = PTRDIFF_MAX;

using Sizes = std::initializer_list<std::size_t>;

// The same value, which the compiler can no longer fold or warn about.
template <typename T>
inline T hide(T value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

template <typename Function>
inline Function lookup(const char* name) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) ADD_FAILURE() << name << " is not there";
  Function function = nullptr;
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

inline bool aligned_to(const void* pointer, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

// Large blocks are touched at the ends and once in each page, small ones everywhere.
inline std::size_t stride_of(std::size_t size) { return size <= 16 * kKib ? 1 : 1021; }

inline unsigned char pattern_byte(std::size_t index, unsigned tag) {
  return static_cast<unsigned char>(index * 7 + (index >> 9) + tag * 29 + 1);
}

inline void fill(void* block, std::size_t size, unsigned tag) {
  auto* const bytes = static_cast<unsigned char*>(block);
  if (size == 0) return;
  for (std::size_t i = 0; i < size; i += stride_of(size)) bytes[i] = pattern_byte(i, tag);
  bytes[size - 1] = pattern_byte(size - 1, tag);
}

// Whether the first `size` bytes still hold what fill() has written for a block of `filled` bytes.
inline bool holds(const void* block, std::size_t size, std::size_t filled, unsigned tag) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  for (std::size_t i = 0; i < size; i += stride_of(filled)) {
    if (bytes[i] != pattern_byte(i, tag)) return false;
  }
  return size == 0 || size < filled || bytes[size - 1] == pattern_byte(size - 1, tag);
}

inline bool holds(const void* block, std::size_t size, unsigned tag) { return holds(block, size, size, tag); }

// All bytes, by words where possible.
inline bool all_zero(const void* block, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

// What every fresh block must satisfy; also writes to the whole of it.
inline void expect_good_block(void* block, std::size_t size, std::size_t alignment = kAlignment) {
  ASSERT_NE(block, nullptr) << size << " bytes";
  EXPECT_TRUE(aligned_to(block, alignment)) << block << " for " << size << " bytes, alignment " << alignment;
  const std::size_t usable = malloc_usable_size(block);
  ASSERT_GE(usable, size);
  fill(block, usable, 3);
  EXPECT_TRUE(holds(block, usable, 3)) << size << " bytes";
}

// Sizes with all the borders: each one up to 1100, then steps, then around each power of two.
inline std::vector<std::size_t> many_sizes(std::size_t largest) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 1100 && size <= largest; ++size) sizes.push_back(size);
  for (std::size_t size = 1101; size <= 70000 && size <= largest; size += 61) sizes.push_back(size);
  for (std::size_t power = 2048; power <= largest; power *= 2) {
    for (const std::size_t size :
         {power - 17, power - 16, power - 1, power, power + 1, power + 16, power + power / 2}) {
      if (size <= largest) sizes.push_back(size);
    }
  }
  return sizes;
}

template <typename Function>
inline void run_in_thread(Function function) {
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    (*static_cast<Function*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, &function), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
}

}  // namespace api

#endif
