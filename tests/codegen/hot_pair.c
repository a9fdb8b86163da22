// The loop whose instructions are counted: 32 times malloc(64), then 32 times free, as many rounds as the argument
// says.
#include <stdlib.h>

enum { kBatch = 32 };

int main(int count, char** arguments) {
  const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 1;
  void* blocks[kBatch];
  for (long round = 0; round < rounds; round++) {
    for (int i = 0; i < kBatch; i++) blocks[i] = malloc(64);
    for (int i = 0; i < kBatch; i++) free(blocks[i]);
  }
  return 0;
}
