#include "os/libc_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>

#include "base/bits.h"
#include "base/relaxed.h"
#include "os/memory.h"
#include "os/memory_map.h"
#include "os/symbols.h"
#include "os/syscall.h"

namespace arenite::os {

namespace {

// One text, each name with its end: an array of pointers would be filled in by the loader in every process.
constexpr char kNames[] =
    "malloc\0free\0calloc\0realloc\0reallocarray\0cfree\0aligned_alloc\0memalign\0posix_memalign\0valloc\0pvalloc\0"
    "mallopt\0mallinfo\0mallinfo2\0malloc_usable_size\0malloc_trim\0malloc_stats\0malloc_info\0"
    "__libc_malloc\0__libc_free\0__libc_calloc\0__libc_realloc\0__libc_reallocarray\0__libc_memalign\0"
    "__libc_valloc\0__libc_pvalloc\0__libc_mallopt\0__libc_mallinfo\0";

// The table of symbols of one library, as the loader reads it: by hash, in the format of DT_GNU_HASH.
class SymbolTable {
 public:
  explicit SymbolTable(const link_map& library) : base_(library.l_addr) {
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols_ = static_cast<ElfW(Sym)*>(place(entry->d_un.d_ptr));
      if (entry->d_tag == DT_STRTAB) names_ = static_cast<const char*>(place(entry->d_un.d_ptr));
      if (entry->d_tag == DT_GNU_HASH) hash_ = static_cast<const std::uint32_t*>(place(entry->d_un.d_ptr));
    }
  }

  bool is_complete() const { return symbols_ != nullptr && names_ != nullptr && hash_ != nullptr; }

  // The entry of a function that the library itself has. Null if there is none.
  ElfW(Sym) * find(const char* name) const {
    const std::uint32_t buckets = hash_[0];
    const std::uint32_t first = hash_[1];  // symbols before this one are not hashed
    const std::uint32_t* const bucket = hash_ + 4 + hash_[2] * (sizeof(ElfW(Addr)) / sizeof *hash_);
    const std::uint32_t* const chain = bucket + buckets;
    const std::uint32_t wanted = hash_of(name);
    std::uint32_t index = bucket[wanted % buckets];
    if (index < first) return nullptr;
    for (;; ++index) {
      const std::uint32_t hash = chain[index - first];
      ElfW(Sym)& symbol = symbols_[index];
      const bool is_it = (hash | 1) == (wanted | 1) && std::strcmp(names_ + symbol.st_name, name) == 0;
      if (is_it) return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC ? &symbol : nullptr;
      if ((hash & 1) != 0) return nullptr;  // the last of its bucket
    }
  }

  std::uintptr_t base() const { return base_; }

 private:
  static std::uint32_t hash_of(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
  }

  // Most loaders write addresses into the table, some leave what is in the file.
  void* place(std::uintptr_t value) const { return pointer_at(value < base_ ? base_ + value : value); }

  std::uintptr_t base_;
  ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
};

bool protect(std::uintptr_t start, std::size_t bytes, int protection) {
  return !failed(system_call(SYS_mprotect, as_argument(start), as_argument(bytes), protection));
}

// A word of a table that is read-only, but while this writes it.
bool write_symbol(ElfW(Sym) * symbol, std::uintptr_t value) {
  Mapping mapping;
  const std::uintptr_t start = address_of(symbol) & ~(page_size() - 1);
  const std::size_t bytes = align_up(address_of(symbol + 1), page_size()) - start;
  if (!find_mapping(start, &mapping)) return false;
  const int usual = mapping.executable ? PROT_READ | PROT_EXEC : PROT_READ;
  if (!protect(start, bytes, usual | PROT_WRITE)) return false;
  relaxed_store(&symbol->st_value, static_cast<ElfW(Addr)>(value));  // others may be looking it up
  protect(start, bytes, usual);
  return true;
}

}  // namespace

bool binds_deep(int mode) { return (mode & RTLD_DEEPBIND) != 0; }

bool redirect_libc_malloc() {
  void* const handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  link_map* library = nullptr;
  bool done = dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0;
  dlclose(handle);  // the process keeps it
  if (!done) return false;
  const SymbolTable table(*library);
  if (!table.is_complete()) return false;
  for (const char* name = kNames; *name != 0; name += std::strlen(name) + 1) {
    ElfW(Sym)* const symbol = table.find(name);
    const std::uintptr_t target = address_of(find_symbol(name));
    if (symbol == nullptr || target == 0 || target - table.base() == symbol->st_value) continue;
    done = write_symbol(symbol, target - table.base()) && done;
  }
  return done;
}

}  // namespace arenite::os
