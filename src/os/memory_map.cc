#include "os/memory_map.h"

#include <fcntl.h>

#include <cstring>

#include "os/console.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

constexpr char kMaps[] = "/proc/self/maps";
// What stands before a name takes no more.
constexpr std::size_t kFieldBytes = 110;

// A file in pieces.
class Reader {
 public:
  explicit Reader(const char* path)
      : file_(system_call(SYS_openat, AT_FDCWD, as_argument(path), O_RDONLY | O_CLOEXEC)) {}
  ~Reader() {
    if (!failed(file_)) system_call(SYS_close, file_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Empty at the end.
  std::string_view next_piece() {
    constexpr long kInterrupted = -4;
    if (failed(file_)) return {};
    for (;;) {
      const long count = system_call(SYS_read, file_, as_argument(piece_), as_argument(sizeof piece_));
      if (count == kInterrupted) continue;
      return {piece_, count > 0 ? static_cast<std::size_t>(count) : 0};
    }
  }

  // The next line without its end. Of one that is longer than `capacity`, the fields and the end of the name are kept.
  // False at the end.
  bool next_line(char* line, std::size_t capacity, std::size_t* length) {
    *length = 0;
    for (bool any = false;; any = true) {
      if (rest_.empty()) rest_ = next_piece();
      if (rest_.empty()) return any;
      const char character = rest_.front();
      rest_.remove_prefix(1);
      if (character == '\n') return true;
      if (*length == capacity) {
        std::memmove(line + kFieldBytes, line + kFieldBytes + 1, capacity - kFieldBytes - 1);
        --*length;
      }
      line[(*length)++] = character;
    }
  }

 private:
  long file_;
  std::string_view rest_;
  char piece_[512];
};

// The number at the start of the text, which is cut off with the character behind it.
std::uintptr_t take_hex(std::string_view* text) {
  std::uintptr_t value = 0;
  while (!text->empty()) {
    const char character = text->front();
    text->remove_prefix(1);
    if (character >= '0' && character <= '9') {
      value = value * 16 + static_cast<std::uintptr_t>(character - '0');
    } else if (character >= 'a' && character <= 'f') {
      value = value * 16 + static_cast<std::uintptr_t>(character - 'a') + 10;
    } else {
      break;
    }
  }
  return value;
}

void skip_field(std::string_view* text) {
  while (!text->empty() && text->front() != ' ') text->remove_prefix(1);
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
}

// "start-end perms offset device inode   name"
void parse(std::string_view line, Mapping* mapping) {
  mapping->start = take_hex(&line);
  mapping->end = take_hex(&line);
  mapping->executable = line.size() > 2 && line[2] == 'x';
  skip_field(&line);
  mapping->file_offset = take_hex(&line);
  skip_field(&line);
  skip_field(&line);
  if (line.size() > sizeof mapping->name) line.remove_prefix(line.size() - sizeof mapping->name);
  mapping->name_length = line.size();
  std::memcpy(mapping->name, line.data(), line.size());
}

}  // namespace

bool find_mapping(std::uintptr_t address, Mapping* mapping) {
  Reader reader(kMaps);
  char line[256];
  std::size_t length = 0;
  while (reader.next_line(line, sizeof line, &length)) {
    parse({line, length}, mapping);
    if (address >= mapping->start && address < mapping->end) return true;
  }
  return false;
}

void write_memory_map(int descriptor) {
  Reader reader(kMaps);
  for (std::string_view piece = reader.next_piece(); !piece.empty(); piece = reader.next_piece()) {
    write_all(descriptor, piece);
  }
}

}  // namespace arenite::os
