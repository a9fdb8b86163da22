// Runs a state test without libFuzzer, under any compiler and sanitizer: feeds it pseudo-random inputs.
//   PROGRAM [COUNT [SEED]]     COUNT inputs, the same ones for the same SEED
//   PROGRAM FILE…              the inputs in these files, to repeat a failure that libFuzzer found
// Prints the seed of each input that it is about to run when FUZZ_VERBOSE is set.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kLongestInput = 4096;

void run_random(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> input(random() % kLongestInput);
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

bool run_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  const std::vector<char> input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], &end, 10) : 1000;
  if (argc > 1 && *end != '\0') {
    for (int i = 1; i < argc; ++i) {
      if (!run_file(argv[i])) {
        std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
        return 2;
      }
    }
    return 0;
  }
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const bool verbose = std::getenv("FUZZ_VERBOSE") != nullptr;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (verbose) std::fprintf(stderr, "input of seed %llu\n", static_cast<unsigned long long>(seed));
    run_random(seed);
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(count));
  return 0;
}
