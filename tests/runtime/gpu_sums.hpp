#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "iris/jit.hpp"
#include "iris/world.hpp"
#include "irisgen/target.hpp"
#include "processes.hpp"

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

/// Elements that are wrong after `launch`, number `number`, of sums of two ranks from input to output.
template <typename Launch>
std::size_t wrong_sum(Context& context, void* input, void* output, int number, const Launch& launch) {
  std::vector<std::int32_t> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = value(context.rank(), i, number);
  context.device().copy(input, values.data(), bytes);
  context.device().fill(output, 0xa5, bytes);
  context.barrier();
  launch();
  context.barrier();
  context.device().copy(values.data(), output, bytes);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) wrong += values[i] != value(0, i, number) + value(1, i, number) ? 1U : 0U;
  context.barrier();
  return wrong;
}

/// The same of five launches.
inline std::size_t wrong_sums(Context& context, Operation& sum, void* input, void* output) {
  std::size_t wrong = 0;
  for (int number = 0; number < 5; ++number) {
    wrong += wrong_sum(context, input, output, number, [&] { sum.launch({input, output}, {{"n", n}}); });
  }
  return wrong;
}

enum class Heaps { fixed, growing };  ///< to all of a GPU's memory

/// What two ranks say, each in a process; they share a GPU if there is one alone. Empty if there are fewer than `gpus`.
inline std::vector<ProcessOutcome> outcomes_on_gpus(std::size_t heap_bytes,
                                                    const std::function<std::string(Context&, const DeviceInfo&)>& body,
                                                    Heaps heaps = Heaps::fixed, std::size_t gpus = 1) {
  auto outcomes = run_ranks(2, [&](int) {
    const DeviceSurvey survey = survey_gpus();
    const irisgen::Target* target = gpu_target(survey);
    if (target == nullptr || survey.gpus.size() < gpus) return "skipped: needs GPUs " + survey.missing;
    const std::size_t limit = heaps == Heaps::growing ? survey.gpus.front().memory_bytes : heap_bytes;
    World world = World::join({.target = std::string(target->name), .heap_bytes = heap_bytes, .heap_limit = limit});
    std::string said;
    world.run([&](Context& context) { said = body(context, survey.gpus.front()); });
    return said;
  });
  if (outcomes[0].said.starts_with("skipped")) outcomes.clear();
  return outcomes;
}

}  // namespace iris::test
