#include "os/abort_message.h"

#include <elf.h>
#include <link.h>
#include <sys/prctl.h>

#include <cstring>

#include "base/bits.h"
#include "os/memory.h"
#include "os/syscall.h"

#pragma weak _r_debug  // a static program has none

namespace arenite::os {

namespace {

// As libc lays it out.
struct AbortMessage {
  unsigned int size;  // of the whole mapping
  char text[];
};

// The tables that a loaded object is searched by.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;
};

// The loader has turned most of these into addresses; where it could not write, they are offsets.
const void* table_at(const link_map* object, ElfW(Addr) value) {
  return pointer_at(value < object->l_addr ? value + object->l_addr : value);
}

Tables tables_of(const link_map* object) {
  Tables tables;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) {
      tables.symbols = static_cast<const ElfW(Sym)*>(table_at(object, entry->d_un.d_ptr));
    } else if (entry->d_tag == DT_STRTAB) {
      tables.names = static_cast<const char*>(table_at(object, entry->d_un.d_ptr));
    } else if (entry->d_tag == DT_GNU_HASH) {
      tables.hash = static_cast<const std::uint32_t*>(table_at(object, entry->d_un.d_ptr));
    }
  }
  return tables;
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char character : name) hash = hash * 33 + static_cast<unsigned char>(character);
  return hash;
}

// The value of a symbol in an object's GNU hash table: header, Bloom filter, buckets, chains; 0 if it is not there.
ElfW(Addr) find_in(const Tables& tables, std::string_view name) {
  if (tables.symbols == nullptr || tables.names == nullptr || tables.hash == nullptr) return 0;
  const std::uint32_t bucket_count = tables.hash[0];
  const std::uint32_t first_hashed = tables.hash[1];
  const std::uint32_t* const buckets = tables.hash + 4 + tables.hash[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chains = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash(name);
  std::uint32_t index = bucket_count == 0 ? 0 : buckets[hash % bucket_count];
  if (index < first_hashed) return 0;
  for (;; ++index) {
    const std::uint32_t candidate = chains[index - first_hashed];
    const ElfW(Sym)& symbol = tables.symbols[index];
    if ((candidate | 1) == (hash | 1) && tables.names + symbol.st_name == name) return symbol.st_value;
    if ((candidate & 1) != 0) return 0;
  }
}

// Plain reads of what the loader has published: dlsym takes a lock. libc is never unloaded and stands near the front.
void** find_abort_message_pointer() {
  if (&_r_debug == nullptr) return nullptr;
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_name == nullptr || !std::string_view(object->l_name).ends_with("/libc.so.6")) continue;
    const ElfW(Addr) value = find_in(tables_of(object), "__abort_msg");
    return value == 0 ? nullptr : static_cast<void**>(pointer_at(object->l_addr + value));
  }
  return nullptr;
}

void name_mapping(const void* start, std::size_t bytes) {
  constexpr long kSetVma = 0x53564d41;
  constexpr long kAnonymousName = 0;
  static constexpr char kName[] = "arenite: report";
  system_call(SYS_prctl, kSetVma, kAnonymousName, as_argument(start), as_argument(bytes), as_argument(kName));
}

AbortMessage* own_message = nullptr;

}  // namespace

void leave_abort_message(std::string_view text) {
  const std::size_t bytes = align_up(sizeof(AbortMessage) + text.size() + 1, page_size());
  auto* const message = static_cast<AbortMessage*>(map(bytes, page_size()));
  if (message == nullptr) return;
  message->size = static_cast<unsigned int>(bytes);
  std::memcpy(message->text, text.data(), text.size());
  name_mapping(message, bytes);
  const AbortMessage* const former = __atomic_exchange_n(&own_message, message, __ATOMIC_ACQ_REL);
  // Release, so that whoever finds it finds the text. libc unmaps what it takes the place of, so that the former
  // message is still there only if libc still has it.
  if (void** const pointer = find_abort_message_pointer(); pointer != nullptr) {
    if (__atomic_exchange_n(pointer, message, __ATOMIC_ACQ_REL) != former) return;
  }
  if (former != nullptr) release(const_cast<AbortMessage*>(former), former->size);
}

}  // namespace arenite::os
