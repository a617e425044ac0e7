#include "sides.hpp"

#include "common.hpp"
#include "total.hpp"

void right_total(iris::Context& context, const float* input, float* output) {
  irisgen_kernels::Total total(context);
  total(input, output);
  context.barrier();
}

void right_common(iris::Context& context, const float* input, float* output) {
  irisgen_kernels::Common common(context);
  common(input, output);
  context.barrier();
}
