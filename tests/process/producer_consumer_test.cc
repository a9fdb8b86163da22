// Two threads allocate and fill, two others check and free, through a ring; then the parts are swapped. What is
// allocated in one thread and freed in another must come back, so the process stays small.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support.h"

namespace {

constexpr std::size_t kRing = 4096;
constexpr unsigned kPairs = 2;
constexpr unsigned kItems = 400000;

struct Item {
  std::size_t size;
  unsigned tag;
};

struct Ring {
  std::atomic<unsigned char*> cells[kRing];
};

Ring rings[kPairs];
std::atomic<bool> swapped{false};

std::size_t random_size(std::uint64_t* random) {
  const std::uint64_t value = next_random(random);
  const unsigned kind = static_cast<unsigned>(value % 256);
  const std::uint64_t rest = value >> 8;
  if (kind == 0) return sizeof(Item) + rest % 300000;
  if (kind < 16) return sizeof(Item) + rest % 8000;
  return sizeof(Item) + rest % 400;
}

void produce(Ring* ring, std::uint64_t seed) {
  std::uint64_t random = seed;
  for (unsigned i = 0; i < kItems; ++i) {
    const std::size_t size = random_size(&random);
    auto* const block = static_cast<unsigned char*>(malloc(size));
    REQUIRE(block != nullptr);
    const Item item{size, i};
    memcpy(block, &item, sizeof item);
    const std::size_t checked = size < 512 ? size - sizeof item : 512 - sizeof item;
    fill(block + sizeof item, checked, i);
    std::atomic<unsigned char*>& cell = ring->cells[i % kRing];
    while (cell.load(std::memory_order_relaxed) != nullptr) sched_yield();
    cell.store(block, std::memory_order_release);
  }
}

void consume(Ring* ring) {
  for (unsigned i = 0; i < kItems; ++i) {
    std::atomic<unsigned char*>& cell = ring->cells[i % kRing];
    unsigned char* block = nullptr;
    while ((block = cell.load(std::memory_order_acquire)) == nullptr) sched_yield();
    cell.store(nullptr, std::memory_order_relaxed);
    Item item;
    memcpy(&item, block, sizeof item);
    REQUIRE(item.tag == i && malloc_usable_size(block) >= item.size);
    const std::size_t checked = item.size < 512 ? item.size - sizeof item : 512 - sizeof item;
    REQUIRE(holds(block + sizeof item, checked, i));
    free(block);
  }
}

void* body(void* argument) {
  const auto index = reinterpret_cast<std::uintptr_t>(argument);
  const bool producer = (index % 2 == 0) != swapped.load();
  if (producer) {
    produce(&rings[index / 2], index + 1);
  } else {
    consume(&rings[index / 2]);
  }
  return nullptr;
}

void run_once() {
  pthread_t threads[2 * kPairs];
  for (std::uintptr_t i = 0; i < 2 * kPairs; ++i) start_thread(&threads[i], body, reinterpret_cast<void*>(i));
  for (const pthread_t thread : threads) join_thread(thread);
}

}  // namespace

int main() {
  run_once();
  swapped = true;
  run_once();
  // At most 8192 blocks of 800 bytes on average are alive at a time, and a few large ones.
  const long peak = status_kib("VmHWM");
  if (peak > 160 * 1024) fail("the process needed %ld KiB", peak);
  return 0;
}
