// Blocks outlive the thread that allocated them, through generations of threads: each generation checks, frees, grows
// or keeps blocks of the ones before. At the end main frees what is left.
#include <cstddef>
#include <cstdint>

#include "support.h"

namespace {

constexpr int kGenerations = 60;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kBlocksPerThread = 800;

struct Block {
  unsigned char* address = nullptr;
  std::size_t size = 0;
  unsigned tag = 0;
};

Block blocks[kThreads][kBlocksPerThread];
int generation;

void* body(void* argument) {
  const auto index = reinterpret_cast<std::uintptr_t>(argument);
  // Works on the blocks of another thread of the generation before.
  Block* const mine = blocks[(index + static_cast<std::size_t>(generation)) % kThreads];
  std::uint64_t random = static_cast<std::uint64_t>(generation) * kThreads + index;
  for (std::size_t i = 0; i < kBlocksPerThread; ++i) {
    Block& block = mine[i];
    if (block.address != nullptr) {
      REQUIRE(holds(block.address, block.size, block.tag));
      const std::uint64_t choice = next_random(&random) % 8;
      if (choice < 3) continue;
      if (choice == 3) {
        const std::size_t size = block.size * 2 + 1;
        block.address = static_cast<unsigned char*>(realloc(block.address, size));
        REQUIRE(block.address != nullptr && holds(block.address, block.size, block.tag));
        if (size < 100000) {
          block.size = size;
          fill(block.address, size, block.tag);
          continue;
        }
      }
      free(block.address);
    }
    const std::uint64_t value = next_random(&random);
    block.size = value % 64 == 0 ? (value >> 8) % 200000 : (value >> 8) % 1500;
    block.tag = static_cast<unsigned>(value >> 40);
    block.address = static_cast<unsigned char*>(malloc(block.size));
    REQUIRE(block.address != nullptr);
    fill(block.address, block.size, block.tag);
  }
  return nullptr;
}

}  // namespace

int main() {
  for (generation = 0; generation < kGenerations; ++generation) {
    pthread_t threads[kThreads];
    for (std::uintptr_t i = 0; i < kThreads; ++i) start_thread(&threads[i], body, reinterpret_cast<void*>(i));
    for (const pthread_t thread : threads) join_thread(thread);
  }
  for (auto& row : blocks) {
    for (const Block& block : row) {
      REQUIRE(holds(block.address, block.size, block.tag));
      free(block.address);
    }
  }
  return 0;
}
