// Four ranks on the CPU use the kernels of both libraries, and one that is described here and compiled as it runs.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include <iris/jit.hpp>

#include "sides.hpp"

namespace {

constexpr int ranks = 4;
constexpr std::size_t count = 1001;

float value_of(int rank, std::size_t index) {
  return static_cast<float>((rank * 7 + 3) % 5) + static_cast<float>(index);
}

float sum_at(std::size_t index) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value_of(rank, index);
  return sum;
}

float largest_at(std::size_t index) {
  float largest = value_of(0, index);
  for (int rank = 1; rank < ranks; ++rank) largest = std::max(largest, value_of(rank, index));
  return largest;
}

void expect(const float* output, std::size_t elements, float (*expected)(std::size_t)) {
  for (std::size_t index = 0; index < elements; ++index) {
    if (output[index] != expected(index)) throw std::runtime_error("the result is wrong");
  }
}

}  // namespace

int main() {
  iris::World world({.size = ranks, .target = "host"});
  world.run([&](iris::Context& context) {
    auto* input = static_cast<float*>(context.allocate(count * sizeof(float)));
    auto* output = static_cast<float*>(context.allocate(count * sizeof(float)));
    for (std::size_t index = 0; index < count; ++index) input[index] = value_of(context.rank(), index);
    context.barrier();
    left_total(context, input, output);
    expect(output, count, sum_at);
    right_total(context, input, output);
    expect(output, count, largest_at);
    for (const auto common : {left_common, right_common}) {
      std::fill_n(output, 10, -1.0f);
      common(context, input, output);
      expect(output, 10, sum_at);
    }
    iris::Operation described = iris::jit(context, R"({irisgen: 1, kernels: [
        {name: total, pattern: all_reduce, dtype: f32, world: 4, shape: {n: 1001}, config: {threads: 64}}]})");
    std::fill_n(output, count, -1.0f);
    described.launch({input, output});
    context.barrier();
    expect(output, count, sum_at);
  });
  std::printf("each total is its own\n");
}
