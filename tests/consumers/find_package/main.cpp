// Four ranks on the CPU sum what they hold, through the typed launcher of a kernel that was compiled with this program.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <iris/manifest.hpp>
#include <iris/tensor.hpp>
#include <iris/world.hpp>
#include "total.hpp"

namespace {

constexpr int ranks = 4;

float value_of(int rank, std::int64_t index) {
  return std::sin(static_cast<float>(index + 1) * 0.37f) * (rank + 1.5f);
}

bool agrees(const float* output, std::int64_t count) {
  for (std::int64_t index = 0; index < count; ++index) {
    double expected = 0;
    for (int rank = 0; rank < ranks; ++rank) expected += value_of(rank, index);
    if (!(std::abs(output[index] - expected) <= 1e-5)) return false;
  }
  return true;
}

}  // namespace

int main() {
  const auto manifest = iris::parse_manifest(app::kernels::Total::embedded().front().manifest);
  if (manifest.variant != "ring") throw std::runtime_error("the tuning table was not asked");  // no model takes it
  const std::int64_t count = manifest.problem.extent("n").value;

  iris::World world({.size = ranks, .target = "host"});
  world.run([&](iris::Context& context) {
    const iris::Tensor input = iris::empty(context, {count});
    const iris::Tensor output = iris::empty(context, {count});
    for (std::int64_t index = 0; index < count; ++index) {
      input->data<float>()[index] = value_of(context.rank(), index);
      output->data<float>()[index] = NAN;
    }
    context.barrier();

    app::kernels::Total total(context);
    total(input, output);
    context.barrier();

    if (!agrees(output->data<float>(), count)) throw std::runtime_error("the result is wrong");
  });
  std::printf("n = %lld: %d ranks agree with the reference\n", static_cast<long long>(count), ranks);
}
