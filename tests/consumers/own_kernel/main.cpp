// Three ranks on the CPU launch a kernel of this program's own.
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <iris/manifest.hpp>
#include <iris/tensor.hpp>
#include <iris/world.hpp>
#include "pass_on.hpp"

namespace {

float value_of(int rank, std::int64_t index) {
  return static_cast<float>(100 * rank + index % 97 + 1);
}

}  // namespace

int main() {
  constexpr int ranks = 3;
  const auto manifest = iris::parse_manifest(irisgen_kernels::PassOn::embedded().front().manifest);
  const std::int64_t count = manifest.problem.extent("n").value;
  float factor = 0;

  iris::World world({.size = ranks, .target = "host"});
  world.run([&](iris::Context& context) {
    const iris::Tensor input = iris::empty(context, {count});
    const iris::Tensor output = iris::zeros(context, {count});
    const int previous = (context.rank() + ranks - 1) % ranks;
    for (std::int64_t index = 0; index < count; ++index) input->data<float>()[index] = value_of(context.rank(), index);
    context.barrier();

    irisgen_kernels::PassOn pass_on(context);
    pass_on(input, output);
    context.barrier();

    const float* values = output->data<float>();
    const float times = values[0] / value_of(previous, 0);
    for (std::int64_t index = 0; index < count; ++index) {
      if (values[index] != times * value_of(previous, index)) throw std::runtime_error("the result is wrong");
    }
    if (context.rank() == 0) factor = times;
  });
  std::printf("n = %lld: each value times %g\n", static_cast<long long>(count), factor);
}
