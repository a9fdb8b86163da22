// What is decided while the process starts and then stands for its whole life: in a page of its own, which is made
// read-only at the end of the start, so that a stray write can neither change where calls lead to nor switch checks
// off.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arenite {

namespace os {
struct Fault;
}

// Where pages are larger than that, nothing is sealed.
inline constexpr std::size_t kSealAlignment = 4096;

struct alignas(kSealAlignment) Sealed {
  std::uintptr_t link_secret = 0;      // random; set before the first link is stored
  std::size_t hardening = 0;           // the features in force: see policy/hardening.h
  void (*at_thread_exit)() = nullptr;  // see os/thread.h
  void (*before_fork)() = nullptr;     // see os/fork.h
  void (*after_fork_in_parent)() = nullptr;
  void (*after_fork_in_child)() = nullptr;
  void (*after_raw_fork)() = nullptr;
  void (*at_fault)(const os::Fault&) = nullptr;  // see os/fault_handler.h
};

inline constinit Sealed sealed;

}  // namespace arenite
