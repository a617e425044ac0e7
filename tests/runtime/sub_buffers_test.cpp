// Collectives on buffers that begin at any element of others, as `config: {vector: 1}` allows. On the CPU an access
// that is not aligned as a GPU wants it is a crash.

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"

namespace iris::sub_buffers_test {
namespace {

using test::Algorithm;
using test::Sample;

constexpr int world = 3;

/// What a launch leaves in the outputs, each buffer so many bytes behind a place that suits every access.
BuffersOfRanks results_at(std::size_t offset, const Sample& sample, const Extents& extents) {
  const BuiltOperation built = test::build(sample);
  const auto count = [&](std::size_t argument) {
    return static_cast<std::size_t>(bytes_of(built.manifest.arguments.at(argument), extents));
  };
  const BuffersOfRanks inputs = test::random_inputs(world, count(0) / 2, Dtype::bf16);
  BuffersOfRanks results(world);
  World ranks({.size = world, .heap_bytes = 16U << 20U});
  ranks.run([&](Context& context) {
    const auto rank = static_cast<std::size_t>(context.rank());
    Operation operation(context, built, extents);
    const auto buffer = [&](std::size_t bytes) {
      return static_cast<std::byte*>(context.allocate(bytes + 16)) + offset;
    };
    std::byte* const input = buffer(count(0));
    std::byte* const output = buffer(count(1));
    context.device().copy(input, inputs[rank].data(), count(0));
    context.barrier();
    for (int launch = 0; launch < 3; ++launch) operation.launch({input, output}, extents);
    context.synchronize();
    results[rank].resize(count(1));
    context.device().copy(results[rank].data(), output, count(1));
  });
  return results;
}

class SubBuffers : public testing::TestWithParam<Algorithm> {};

TEST_P(SubBuffers, MayBeginAtAnyElement) {
  Sample sample{.algorithm = GetParam(), .world = world, .dtype = "bf16"};
  const Extents extents = test::collective_extents(GetParam(), world, 3, 171);
  const BuffersOfRanks expected = results_at(0, sample, extents);
  sample.config = test::small_grid(GetParam(), 32) + ", vector: 1";
  for (const std::size_t offset : {2, 6, 14}) EXPECT_EQ(results_at(offset, sample, extents), expected) << offset;
}

/// Those that sum in the order of arrival may differ in the last bit.
std::vector<Algorithm> collectives() {
  std::vector<Algorithm> all = test::every_algorithm();
  std::erase_if(all, [](const Algorithm& algorithm) {
    return test::is_matmul(algorithm) || !test::has_key(algorithm, "vector") || !test::row_of(algorithm)->deterministic;
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, SubBuffers, testing::ValuesIn(collectives()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace iris::sub_buffers_test
