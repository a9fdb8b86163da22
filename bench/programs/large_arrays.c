// Stands for: a program that computes with whole arrays, in Python with numpy for example: each operator of an
// expression allocates an array for its result, writes it once, and the arrays in between are freed as soon as they
// are used. The same lines run again and again on arrays of one length.
//
// usage: large_arrays [phases=20] [repeats=10]
//
// Each phase takes a length from 0.5 to 32 MiB, allocates three arrays of it, and evaluates `d = (a * b + c) / (a - b)`
// the given number of times: four arrays are made for each, three of them in between. The d of before is freed when the
// new one is assigned.
// Prints: seconds, user, system, minor_faults, peak_kib.
#include "bench.h"

static double* operate(char operator, const double* left, const double* right, size_t length) {
  double* const result = allocate(length * sizeof(double));
  switch (operator) {
    case '+':
      for (size_t i = 0; i < length; i++) result[i] = left[i] + right[i];
      break;
    case '-':
      for (size_t i = 0; i < length; i++) result[i] = left[i] - right[i];
      break;
    case '*':
      for (size_t i = 0; i < length; i++) result[i] = left[i] * right[i];
      break;
    default:
      for (size_t i = 0; i < length; i++) result[i] = left[i] / right[i];
  }
  return result;
}

static double* filled(double value, size_t length) {
  double* const result = allocate(length * sizeof(double));
  for (size_t i = 0; i < length; i++) result[i] = value;
  return result;
}

static double* evaluate(const double* a, const double* b, const double* c, size_t length) {
  double* const product = operate('*', a, b, length);
  double* const sum = operate('+', product, c, length);
  free(product);
  double* const difference = operate('-', a, b, length);
  double* const quotient = operate('/', sum, difference, length);
  free(difference);
  free(sum);
  return quotient;
}

int main(int argc, char** argv) {
  size_t phases = 20, repeats = 10;
  const struct argument arguments[] = {{"phases", &phases}, {"repeats", &repeats}};
  read_arguments(argc, argv, arguments, COUNT_OF(arguments));

  const double start = seconds_now();
  const struct usage before = usage_now();
  uint64_t random = 1;
  double* d = NULL;
  for (size_t phase = 0; phase < phases; phase++) {
    const size_t length = random_doubling(&random, MIB / 2, 6) / sizeof(double);
    double* const a = filled(5, length);
    double* const b = filled(3, length);
    double* const c = filled(1, length);
    for (size_t repeat = 0; repeat < repeats; repeat++) {
      double* const next = evaluate(a, b, c, length);
      free(d);
      d = next;
      REQUIRE(d[0] == 8 && d[length - 1] == 8);
    }
    free(a);
    free(b);
    free(c);
  }
  free(d);
  const struct usage used = usage_since(before);
  report("{\"seconds\": %.3f, \"user\": %.3f, \"system\": %.3f, \"minor_faults\": %ld, \"peak_kib\": %ld}",
         seconds_now() - start, used.user, used.system, used.minor_faults, peak_kib());
  return 0;
}
