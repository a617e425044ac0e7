#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "iris/jit.hpp"
#include "iris/world.hpp"
#include "irisgen/target.hpp"

namespace iris::test {

/// The target of this machine's GPUs; nullptr if there are none that irisgen knows.
inline const irisgen::Target* gpu_target(const DeviceSurvey& survey) {
  return survey.gpus.empty() ? nullptr : irisgen::find_target(survey.gpus.front().target);
}

inline std::string kernel_of(const std::string& pattern, const std::string& variant, int world) {
  return "irisgen: 1\nkernels:\n  - {name: sample, pattern: " + pattern + ", variant: " + variant +
         ", dtype: i32, world: " + std::to_string(world) + ", shape: {n: dynamic}, config: {blocks: 8}}\n";
}

inline constexpr std::size_t n = 300'000;
inline constexpr std::size_t bytes = n * sizeof(int);

inline std::int32_t value(int rank, std::size_t i, int launch) {
  return (rank + 1) * static_cast<std::int32_t>(7 * i % 1000 + 13 * static_cast<std::size_t>(launch));
}

/// Sums of two ranks, from input to output; elements that are wrong.
inline std::size_t wrong_sums(Context& context, Operation& sum, void* input, void* output) {
  std::size_t wrong = 0;
  std::vector<std::int32_t> values(n);
  for (int launch = 0; launch < 5; ++launch) {
    for (std::size_t i = 0; i < n; ++i) values[i] = value(context.rank(), i, launch);
    context.device().copy(input, values.data(), bytes);
    context.device().fill(output, 0xa5, bytes);
    context.barrier();
    sum.launch({input, output}, {{"n", n}});
    context.barrier();
    context.device().copy(values.data(), output, bytes);
    for (std::size_t i = 0; i < n; ++i) wrong += values[i] != value(0, i, launch) + value(1, i, launch) ? 1U : 0U;
    context.barrier();
  }
  return wrong;
}

}  // namespace iris::test
