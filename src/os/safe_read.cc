#include "os/safe_read.h"

#include <sys/uio.h>

#include "os/syscall.h"

namespace arenite::os {

bool safe_read(const void* from, void* to, std::size_t bytes) {
  const iovec local{.iov_base = to, .iov_len = bytes};
  const iovec remote{.iov_base = const_cast<void*>(from), .iov_len = bytes};
  const long own = system_call(SYS_getpid);
  const long copied =
      system_call(SYS_process_vm_readv, own, as_argument(&local), 1, as_argument(&remote), 1, /*flags=*/0);
  return copied == static_cast<long>(bytes);
}

}  // namespace arenite::os
