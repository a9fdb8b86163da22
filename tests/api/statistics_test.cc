// mallopt, mallinfo, mallinfo2, malloc_trim, malloc_stats, malloc_info and the two state functions.
#include <fcntl.h>
#include <sys/wait.h>

#include <map>
#include <string>

#include "support.h"

namespace {

using api::kKib;
using api::kMib;

// Calls that change something for good are made in a child process.
template <typename Function>
void in_child(Function function) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    function();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Mallopt, AcceptsWhatGlibcAccepts) {
  in_child([] {
    for (const int parameter : {M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_CHECK_ACTION, M_ARENA_TEST,
                                M_ARENA_MAX, M_NLBLKS, M_GRAIN, M_KEEP}) {
      EXPECT_EQ(mallopt(parameter, 3), 1) << parameter;
    }
    EXPECT_EQ(mallopt(M_MXFAST, 64), 1);
    EXPECT_EQ(mallopt(M_PERTURB, 0), 1);
    EXPECT_EQ(mallopt(M_TRIM_THRESHOLD, -1), 1);
    EXPECT_EQ(mallopt(M_TOP_PAD, 64 * 1024), 1);
    void* const block = malloc(100000);
    EXPECT_NE(block, nullptr);
    free(block);
  });
}

TEST(Mallopt, UnknownParametersAreAccepted) {
  for (const int parameter : {0, 5, 17, 1000, -9, -100, -101, -204, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(mallopt(parameter, 1), 1) << parameter;
  }
}

TEST(Mallopt, ArenaNumbersBelowOneAreIgnored) {
  EXPECT_EQ(mallopt(M_ARENA_MAX, 0), 1);
  EXPECT_EQ(mallopt(M_ARENA_MAX, -5), 1);
  EXPECT_EQ(mallopt(M_ARENA_TEST, 0), 1);
  EXPECT_EQ(mallopt(M_ARENA_TEST, -1), 1);
  api::run_in_thread([] {
    void* const block = malloc(100);
    EXPECT_NE(block, nullptr);
    free(block);
  });
}

TEST(Mallopt, LeavesErrnoAlone) {
  errno = 4711;
  mallopt(12345, 6);
  EXPECT_EQ(errno, 4711);
}

TEST(Mallopt, MmapThresholdMovesRequestsToMappings) {
  in_child([] {
    ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, 64 * 1024 * 1024), 1);
    const struct mallinfo2 before = mallinfo2();
    void* const block = malloc(2 * kMib);
    const struct mallinfo2 in_heap = mallinfo2();
    EXPECT_EQ(in_heap.hblks, before.hblks);
    EXPECT_GE(in_heap.uordblks, before.uordblks + 2 * kMib);
    free(block);
    ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, 256 * 1024), 1);
    malloc_trim(0);
    void* const mapped = malloc(24 * kMib);
    EXPECT_EQ(mallinfo2().hblks, before.hblks + 1);
    free(mapped);
    EXPECT_EQ(mallinfo2().hblks, before.hblks);
  });
}

TEST(Mallopt, NoMappingsWhenMmapMaxIsZero) {
  in_child([] {
    ASSERT_EQ(mallopt(M_MMAP_MAX, 0), 1);
    const struct mallinfo2 before = mallinfo2();
    void* const block = malloc(4 * kMib);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(mallinfo2().hblks, before.hblks);
    free(block);
  });
}

TEST(Mallinfo2, FiguresAddUp) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 3000; ++i) blocks.push_back(malloc(i * 3));
  for (std::size_t i = 0; i < blocks.size(); i += 3) free(blocks[i]);
  const struct mallinfo2 info = mallinfo2();
  EXPECT_EQ(info.uordblks + info.fordblks, info.arena);
  EXPECT_GT(info.arena, 2 * kMib);
  EXPECT_GT(info.uordblks, 2 * kMib);
  EXPECT_LE(info.keepcost, info.fordblks);
  EXPECT_EQ(info.usmblks, 0u);
  if (info.hblks == 0) {
    EXPECT_EQ(info.hblkhd, 0u);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 3 != 0) free(blocks[i]);
  }
}

TEST(Mallinfo2, CountsLiveBytes) {
  const struct mallinfo2 before = mallinfo2();
  std::vector<void*> blocks(400);
  for (void*& block : blocks) block = malloc(20000);
  const struct mallinfo2 during = mallinfo2();
  EXPECT_GE(during.uordblks, before.uordblks + 400 * 20000 / 2);
  EXPECT_LE(during.uordblks, before.uordblks + 400 * 20000 * 2);
  for (void* const block : blocks) free(block);
  const struct mallinfo2 after = mallinfo2();
  EXPECT_LE(after.uordblks, before.uordblks + 2 * kMib);
}

TEST(Mallinfo2, CountsMappings) {
  malloc_trim(0);
  const struct mallinfo2 before = mallinfo2();
  void* const one = malloc(32 * kMib + 1);
  void* const two = malloc(50 * kMib);
  const struct mallinfo2 during = mallinfo2();
  EXPECT_EQ(during.hblks, before.hblks + 2);
  EXPECT_GE(during.hblkhd, before.hblkhd + 82 * kMib);
  EXPECT_LE(during.hblkhd, before.hblkhd + 83 * kMib);
  EXPECT_LE(during.uordblks, before.uordblks + kMib) << "mappings are no part of the arenas";
  free(one);
  free(two);
  const struct mallinfo2 after = mallinfo2();
  EXPECT_EQ(after.hblks, before.hblks);
  EXPECT_EQ(after.hblkhd, before.hblkhd);
}

TEST(Mallinfo2, CountsAllThreads) {
  const struct mallinfo2 before = mallinfo2();
  std::vector<void*> blocks(4000);
  api::run_in_thread([&blocks] {
    for (void*& block : blocks) block = malloc(1000);
  });
  EXPECT_GE(mallinfo2().uordblks, before.uordblks + 4000 * 1000);
  for (void* const block : blocks) free(block);
}

TEST(Mallinfo, AgreesWithMallinfo2) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
  const struct mallinfo2 wide = mallinfo2();
  EXPECT_EQ(static_cast<unsigned>(narrow.arena), static_cast<unsigned>(wide.arena));
  EXPECT_EQ(static_cast<unsigned>(narrow.hblks), static_cast<unsigned>(wide.hblks));
  EXPECT_EQ(static_cast<unsigned>(narrow.hblkhd), static_cast<unsigned>(wide.hblkhd));
  EXPECT_EQ(static_cast<unsigned>(narrow.uordblks) + static_cast<unsigned>(narrow.fordblks),
            static_cast<unsigned>(narrow.arena));
}

long resident_pages() {
  long size = 0;
  long resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  EXPECT_EQ(fscanf(file, "%ld %ld", &size, &resident), 2);
  fclose(file);
  return resident;
}

TEST(MallocTrim, GivesMemoryBackAndSaysSo) {
  std::vector<void*> blocks(60000);
  for (void*& block : blocks) {
    block = malloc(1000);
    std::memset(block, 1, 1000);
  }
  void* const last = malloc(1000);
  for (void* const block : blocks) free(block);
  malloc_trim(0);
  const long page = sysconf(_SC_PAGESIZE);
  const long before = resident_pages();
  for (void*& block : blocks) {
    block = malloc(1000);
    std::memset(block, 1, 1000);
  }
  EXPECT_GT((resident_pages() - before) * page, static_cast<long>(50 * kMib));
  for (void* const block : blocks) free(block);
  malloc_trim(0);
  EXPECT_LT((resident_pages() - before) * page, static_cast<long>(10 * kMib));
  free(last);
  // So little that the frees themselves keep it.
  for (std::size_t i = 0; i < 500; ++i) {
    blocks[i] = malloc(1000);
    std::memset(blocks[i], 1, 1000);
  }
  for (std::size_t i = 0; i < 500; ++i) free(blocks[i]);
  EXPECT_EQ(malloc_trim(0), 1);
}

TEST(MallocTrim, WithNothingToGiveReturnsZero) {
  malloc_trim(0);
  malloc_trim(0);
  EXPECT_EQ(malloc_trim(0), 0);
  EXPECT_EQ(malloc_trim(SIZE_MAX), 0);
}

// Runs a function with stderr in a file and returns what it wrote.
template <typename Function>
std::string stderr_of(Function function) {
  char name[] = "/tmp/api_tests.XXXXXX";
  const int file = mkstemp(name);
  EXPECT_GE(file, 0);
  unlink(name);
  fflush(stderr);
  const int saved = dup(2);
  dup2(file, 2);
  function();
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  std::string text(100000, '\0');
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  close(file);
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return text;
}

TEST(MallocStats, WritesGlibcsLines) {
  void* const mapped = malloc(40 * kMib);
  const std::string text = stderr_of([] { malloc_stats(); });
  free(mapped);
  std::size_t from = 0;
  for (const char* const line :
       {"Arena 0:\n", "system bytes     = ", "in use bytes     = ", "Total (incl. mmap):\n",
        "system bytes     = ", "in use bytes     = ", "max mmap regions = ", "max mmap bytes   = "}) {
    const std::size_t found = text.find(line, from);
    ASSERT_NE(found, std::string::npos) << line << " is not in\n" << text;
    from = found + 1;
  }
  const std::size_t total = text.find("Total (incl. mmap):");
  const std::size_t in_use = text.find("in use bytes     = ", total);
  EXPECT_GE(std::strtoul(text.c_str() + in_use + 19, nullptr, 10), 40 * kMib);
}

std::string malloc_info_text() {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* const file = open_memstream(&text, &size);
  EXPECT_EQ(malloc_info(0, file), 0);
  fclose(file);
  std::string result(text, size);
  free(text);
  return result;
}

// A small parser of the XML that malloc_info may write: elements and attributes, no text in between. Returns what is
// wrong, or an empty string, and collects each element as name followed by its attributes.
std::string parse_xml(const std::string& text, std::vector<std::string>* elements) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n' || text[at] == ' ') {
      ++at;
      continue;
    }
    if (text[at] != '<') return "text outside of an element: " + text.substr(at, 30);
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return "no end: " + text.substr(at, 30);
    std::string tag = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.empty()) return "an empty tag";
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "wrong end tag: " + tag;
      open.pop_back();
      continue;
    }
    const bool closed = tag.back() == '/';
    if (closed) tag.pop_back();
    if (open.empty() && !elements->empty()) return "a second root: " + tag;
    elements->push_back(tag);
    const std::size_t name_end = tag.find(' ');
    const std::string name = tag.substr(0, name_end);
    for (std::size_t i = name_end; i < tag.size();) {
      while (i < tag.size() && tag[i] == ' ') ++i;
      if (i == tag.size()) break;
      const std::size_t equals = tag.find("=\"", i);
      if (equals == std::string::npos || equals == i) return "no attribute: " + tag;
      const std::size_t quote = tag.find('"', equals + 2);
      if (quote == std::string::npos) return "no end of an attribute: " + tag;
      i = quote + 1;
    }
    if (!closed) open.push_back(name);
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

std::size_t attribute(const std::string& element, const std::string& name) {
  const std::size_t found = element.find(" " + name + "=\"");
  EXPECT_NE(found, std::string::npos) << name << " in " << element;
  if (found == std::string::npos) return 0;
  return std::strtoul(element.c_str() + found + name.size() + 3, nullptr, 10);
}

TEST(MallocInfo, IsWellFormedXml) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 1000; ++i) blocks.push_back(malloc(i * 17));
  for (std::size_t i = 0; i < 1000; i += 2) free(blocks[i]);
  std::vector<std::string> elements;
  const std::string text = malloc_info_text();
  EXPECT_EQ(parse_xml(text, &elements), "") << text;
  ASSERT_FALSE(elements.empty());
  EXPECT_EQ(elements[0].rfind("malloc version=\"", 0), 0u) << elements[0];
  for (std::size_t i = 1; i < 1000; i += 2) free(blocks[i]);
}

TEST(MallocInfo, HasGlibcsElementsWithTrueFigures) {
  void* const mapped = malloc(40 * kMib);
  std::vector<std::string> elements;
  ASSERT_EQ(parse_xml(malloc_info_text(), &elements), "");
  const struct mallinfo2 info = mallinfo2();
  free(mapped);
  std::size_t heaps = 0;
  std::size_t system = 0;
  std::size_t mappings = 0;
  std::size_t mapped_bytes = 0;
  for (const std::string& element : elements) {
    if (element.rfind("heap nr=\"", 0) == 0) {
      EXPECT_EQ(attribute(element, "nr"), heaps);
      ++heaps;
    }
    if (element.rfind("system type=\"current\"", 0) == 0) system = attribute(element, "size");
    if (element.rfind("total type=\"mmap\"", 0) == 0) {
      mappings = attribute(element, "count");
      mapped_bytes = attribute(element, "size");
    }
  }
  EXPECT_GE(heaps, 1u);
  EXPECT_EQ(mappings, info.hblks);
  EXPECT_EQ(mapped_bytes, info.hblkhd);
  EXPECT_GE(system + 256 * kKib, info.arena);
}

TEST(MallocInfo, TellsWhatGlibcHasNoPlaceFor) {
  cpu_set_t processors;
  ASSERT_EQ(sched_getaffinity(0, sizeof processors, &processors), 0);
  void* const mapped = malloc(40 * kMib);
  std::vector<std::string> elements;
  ASSERT_EQ(parse_xml(malloc_info_text(), &elements), "");
  std::map<std::string, std::string> own;
  bool inside = false;
  for (const std::string& element : elements) {
    inside = inside || element.rfind("arenite ", 0) == 0;
    if (inside) own[element.substr(0, element.find(' '))] = element;
  }
  free(mapped);
  EXPECT_GE(attribute(own["processors"], "count"), 1u);
  EXPECT_LE(attribute(own["processors"], "count"), static_cast<std::size_t>(CPU_COUNT(&processors)));
  EXPECT_GE(attribute(own["arenas"], "count"), 1u);
  EXPECT_GE(attribute(own["arenas"], "limit"), attribute(own["arenas"], "count"));
  EXPECT_GT(attribute(own["footprint"], "size"), 40 * kMib);
  EXPECT_EQ(own.count("cached"), 1u);
  EXPECT_EQ(own.count("huge_pages"), 1u);
}

TEST(MallocInfo, OptionsMustBeZero) {
  for (const int options : {1, 2, -1, 1000}) {
    char* text = nullptr;
    std::size_t size = 0;
    FILE* const file = open_memstream(&text, &size);
    errno = 4711;
    EXPECT_EQ(malloc_info(options, file), EINVAL);
    EXPECT_EQ(errno, 4711);
    fclose(file);
    EXPECT_EQ(size, 0u);
    free(text);
  }
}

TEST(MallocState, GetIsNotSupported) {
  const auto get_state = api::lookup<void* (*)()>("malloc_get_state");
  ASSERT_NE(get_state, nullptr);
  errno = 0;
  EXPECT_EQ(get_state(), nullptr);
  EXPECT_EQ(errno, ENOSYS);
}

TEST(MallocState, SetRefuses) {
  const auto set_state = api::lookup<int (*)(void*)>("malloc_set_state");
  ASSERT_NE(set_state, nullptr);
  static char garbage[8192];
  std::memset(garbage, 0x5a, sizeof garbage);
  EXPECT_EQ(set_state(garbage), -1);
}

}  // namespace
