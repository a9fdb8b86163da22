#include "os/file.h"

#include <fcntl.h>

#include "os/syscall.h"

namespace arenite::os {

std::string_view read_file(const char* path, char* buffer, std::size_t capacity) {
  const long file = system_call(SYS_openat, AT_FDCWD, as_argument(path), O_RDONLY | O_CLOEXEC);
  if (failed(file)) return {};
  std::size_t length = 0;
  while (length < capacity) {
    const long count = system_call(SYS_read, file, as_argument(buffer + length), as_argument(capacity - length));
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  system_call(SYS_close, file);
  return {buffer, length};
}

}  // namespace arenite::os
