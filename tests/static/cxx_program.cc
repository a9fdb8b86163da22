// A C++ program linked with the static library: containers, strings, streams, threads, exceptions, all kinds of new.
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace {

struct alignas(256) Wide {
  char bytes[300];
};

int handler_calls = 0;

void give_up() {
  ++handler_calls;
  std::set_new_handler(nullptr);
}

void use_containers(int tag) {
  std::map<std::string, std::vector<int>> numbers;
  for (int i = 0; i < 2000; ++i) {
    std::ostringstream name;
    name << "a name that is too long to be kept in place " << tag << ' ' << i;
    numbers[name.str()].assign(static_cast<std::size_t>(i % 300), i);
  }
  for (const auto& [name, values] : numbers) {
    for (const int value : values) REQUIRE(static_cast<std::size_t>(value % 300) == values.size());
    REQUIRE(name.size() > 40);
  }
}

void use_new() {
  const std::unique_ptr<Wide> wide(new Wide);
  REQUIRE(reinterpret_cast<std::uintptr_t>(wide.get()) % 256 == 0);
  const std::unique_ptr<Wide[]> more(new Wide[7]);
  REQUIRE(reinterpret_cast<std::uintptr_t>(more.get()) % 256 == 0);
  delete new (std::nothrow) long(5);
  void* const block = operator new(1000);
  REQUIRE(malloc_usable_size(block) >= 1000);
  free(block);
}

void use_failures() {
  volatile std::size_t huge = SIZE_MAX / 2;
  REQUIRE(operator new(huge, std::nothrow) == nullptr);
  bool thrown = false;
  std::set_new_handler(give_up);
  try {
    operator delete(operator new(huge));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  REQUIRE(thrown && handler_calls == 1);
  thrown = false;
  try {
    throw std::runtime_error("a text that needs memory of its own, more than a few bytes");
  } catch (const std::exception&) {
    thrown = true;
  }
  REQUIRE(thrown);
}

}  // namespace

int main() {
  require_arenite();
  use_new();
  use_failures();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(use_containers, i);
    for (std::thread& thread : threads) thread.join();
  }
  return 0;
}
