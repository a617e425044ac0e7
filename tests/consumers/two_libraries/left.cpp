#include "sides.hpp"

#include "common.hpp"
#include "total.hpp"

void left_total(iris::Context& context, const float* input, float* output) {
  irisgen_kernels::Total total(context);
  total(input, output);
  context.barrier();
}

void left_common(iris::Context& context, const float* input, float* output) {
  irisgen_kernels::Common common(context);
  common(input, output);
  context.barrier();
}
