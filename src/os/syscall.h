// System calls made raw: libc's wrappers may be interposed by someone who allocates, and they write errno.
#pragma once

#include <sys/syscall.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <errno.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>

namespace arenite::os {

// The kernel's answer: a value, or -errno in [-4095, -1].
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
  const int saved = errno;
  const long result = ::syscall(number, a, b, c, d, e, f);
  const long answer = result == -1 ? -static_cast<long>(errno) : result;
  errno = saved;
  return answer;
#endif
}

inline bool failed(long result) { return result < 0 && result >= -4095; }

inline long as_argument(const void* pointer) { return static_cast<long>(reinterpret_cast<std::intptr_t>(pointer)); }
inline long as_argument(std::size_t value) { return static_cast<long>(value); }

}  // namespace arenite::os
