// What must hold among collectives, whatever the data: laws, not values.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "iris/world.hpp"
#include "run_samples.hpp"

namespace iris::properties_test {
namespace {

using test::Algorithm;
using test::apply;
using test::build;
using test::random_inputs;
using test::Sample;

class Properties : public testing::TestWithParam<int> {
 protected:
  int world() const { return GetParam(); }
  std::size_t ranks() const { return static_cast<std::size_t>(GetParam()); }
};

/// So many elements of the begin of each buffer.
BuffersOfRanks first_of(BuffersOfRanks buffers, std::size_t count, Dtype dtype) {
  for (auto& buffer : buffers) buffer.resize(count * static_cast<std::size_t>(bytes_of(dtype)));
  return buffers;
}

/// Sums run in the order of ranks, or are exact, so not even the last bit tells the variants apart, nor the sizes.
TEST_P(Properties, AllReduceVariantsAgreeBitwise) {
  constexpr std::size_t fewer = 977;
  for (const auto& [name, dtype] :
       {std::pair{"f32", Dtype::f32}, {"f16", Dtype::f16}, {"bf16", Dtype::bf16}, {"i32", Dtype::i32}}) {
    const BuffersOfRanks inputs = random_inputs(world(), 3001, dtype);
    const BuffersOfRanks one_shot =
        apply(Sample{{"all_reduce", "one_shot"}, world(), name}, {{"m", 1}, {"n", 3001}}, inputs);
    for (const auto& output : one_shot) EXPECT_EQ(output, one_shot.front());
    for (const char* variant : {"one_shot", "low_latency", "low_latency_two_shot", "two_shot", "workgroup_specialized",
                                "ring", "atomic", "spinlock"}) {
      const Sample sample{{"all_reduce", variant}, world(), name};
      if (!test::row_of(sample.algorithm)->deterministic && dtype != Dtype::i32) continue;
      EXPECT_EQ(apply(sample, {{"m", 1}, {"n", 3001}}, inputs), one_shot) << variant << " of " << name;
      EXPECT_EQ(apply(sample, {{"m", 1}, {"n", fewer}}, first_of(inputs, fewer, dtype)),
                first_of(one_shot, fewer, dtype))
          << variant << " of " << name;
    }
    const Extents divided = {{"m", 1}, {"n", 1200}};
    const BuffersOfRanks of_divided = random_inputs(world(), 1200, dtype);
    Sample phases{{"all_reduce", "reduce_scatter_all_gather"}, world(), name};
    phases.extents = divided;
    EXPECT_EQ(apply(phases, divided, of_divided),
              apply(Sample{{"all_reduce", "one_shot"}, world(), name}, divided, of_divided))
        << name;
  }
}

TEST_P(Properties, AllGatherAfterReduceScatterIsAllReduce) {
  const std::size_t count = 219;
  const BuffersOfRanks inputs = random_inputs(world(), count * ranks(), Dtype::f32);
  const auto shard = static_cast<std::int64_t>(count);
  for (const char* variant : {"direct", "workgroup_specialized", "low_latency"}) {
    const BuffersOfRanks scattered =
        apply(Sample{{"reduce_scatter", variant}, world(), "f32"}, {{"m", 1}, {"n", shard}}, inputs);
    const BuffersOfRanks gathered =
        apply(Sample{{"all_gather", "direct"}, world(), "f32"}, {{"m", 1}, {"n", shard}}, scattered);
    EXPECT_EQ(gathered,
              apply(Sample{{"all_reduce", "two_shot"}, world(), "f32"}, {{"m", world()}, {"n", shard}}, inputs))
        << variant;
  }
}

/// Of f32 partial sums travel as they are, so that of products, too, all variants make the same bits.
TEST(SummedProducts, VariantsAgreeBitwise) {
  for (const char* pattern : {"matmul_reduce_scatter", "matmul_all_reduce"}) {
    std::vector<BuffersOfRanks> results;
    for (const Algorithm& algorithm : test::every_algorithm()) {
      if (algorithm.pattern != pattern) continue;
      RunOptions options;
      options.extents = test::matmul_extents(algorithm, 3, 40, 33, 50);
      options.verify = false;
      const Extents known = test::known_extents(algorithm, options.extents);
      results.push_back(
          run_operation(build({.algorithm = algorithm, .world = 3, .dtype = "f32", .extents = known}), options)
              .outputs.front()
              .content);
      EXPECT_EQ(results.back(), results.front()) << algorithm.name();
    }
    EXPECT_GE(results.size(), 4u) << pattern;
  }
}

TEST_P(Properties, AllToAllTwiceChangesNothing) {
  const BuffersOfRanks inputs = random_inputs(world(), 5 * 37 * ranks(), Dtype::f16);
  const Sample sample = Sample{{"all_to_all", "direct"}, world(), "f16"};
  const Extents extents = {{"m", 5}, {"n", 37}};
  const BuffersOfRanks once = apply(sample, extents, inputs);
  EXPECT_EQ(once == inputs, world() == 1);
  EXPECT_EQ(apply(sample, extents, once), inputs);
}

TEST_P(Properties, BroadcastGivesEveryRankTheRootsInput) {
  const BuffersOfRanks inputs = random_inputs(world(), 777, Dtype::bf16);
  for (const char* variant : {"direct", "low_latency", "low_latency_scatter_gather", "scatter_gather", "chain"}) {
    const BuffersOfRanks outputs =
        apply(Sample{{"broadcast", variant}, world(), "bf16"}, {{"m", 1}, {"n", 777}}, inputs);
    for (const auto& output : outputs) EXPECT_EQ(output, inputs[ranks() / 2]) << variant;  // the sample's root
  }
}

TEST_P(Properties, OrderOfExecutionChangesNothing) {
  for (const auto& [pattern, variant] : {std::pair{"all_reduce", "one_shot"},
                                         {"all_reduce", "low_latency"},
                                         {"all_reduce", "low_latency_two_shot"},
                                         {"all_reduce", "two_shot"},
                                         {"all_reduce", "workgroup_specialized"},
                                         {"all_reduce", "ring"},
                                         {"all_to_all", "direct"},
                                         {"all_to_all", "low_latency"}}) {
    const Sample sample = Sample{{pattern, variant}, world(), "f32"};
    const bool all_to_all = std::string(pattern) == "all_to_all";
    const BuffersOfRanks inputs = random_inputs(world(), 501 * (all_to_all ? ranks() : 1), Dtype::f32);
    const BuffersOfRanks first = apply(sample, {{"m", 1}, {"n", 501}}, inputs, 0);
    for (std::uint64_t seed = 1; seed < 12; ++seed)
      EXPECT_EQ(apply(sample, {{"m", 1}, {"n", 501}}, inputs, seed), first);
  }
}

/// Of rings of four slots or more for each that pushes, which go round several times.
TEST_P(Properties, ChunksThatAreReadLateChangeNothing) {
  for (const auto& [pattern, of_old] : {std::pair{"all_reduce", "two_shot"}, {"reduce_scatter", "direct"}}) {
    const std::int64_t shards = std::string(pattern) == "reduce_scatter" ? ranks() : 1;
    const BuffersOfRanks inputs = random_inputs(world(), static_cast<std::size_t>(501 * shards), Dtype::f32);
    const Extents extents = {{"m", 1}, {"n", 501}};
    const BuffersOfRanks expected = apply(Sample{{pattern, of_old}, world(), "f32"}, extents, inputs);
    for (const char* grid : {"blocks: 4, comm_blocks: 1", "blocks: 4, comm_blocks: 3", "blocks: 5, comm_blocks: 2"}) {
      Sample sample{{pattern, "workgroup_specialized"}, world(), "f32"};
      sample.extents = extents;
      sample.config = std::string(grid) + ", threads: 5, chunk: 4";
      for (std::uint64_t seed = 0; seed < 8; ++seed)
        EXPECT_EQ(apply(sample, extents, inputs, seed), expected) << sample.text() << ", seed " << seed;
    }
  }
}

/// On one buffer, a launch after another: rank r's shard of the sums is summed into block r, which then goes to all.
TEST_P(Properties, ReduceScatterThenAllGatherInPlaceIsAllReduceInPlace) {
  constexpr int rounds = 4;
  constexpr std::int64_t count = 37;
  for (const auto& [scatter, gather] : {std::pair{"direct", "direct"},
                                        {"low_latency", "copy_engine"},
                                        {"direct", "low_latency"},
                                        {"workgroup_specialized", "direct"}}) {
    const Sample scatters{.algorithm = {"reduce_scatter", scatter}, .world = world(), .dtype = "i32", .op = "sum"};
    const Sample gathers{.algorithm = {"all_gather", gather, "m"}, .world = world(), .dtype = "i32"};
    const std::array built{build(scatters), build(gathers)};
    const Extents extents = {{"m", 1}, {"n", count}};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      World ranks({.size = world(), .heap_bytes = 16U << 20U, .seed = seed});
      ranks.run([&](Context& context) {
        Operation reduce_scatter(context, built[0], extents);
        Operation all_gather(context, built[1], extents);
        std::vector<std::int32_t> values(count * static_cast<std::size_t>(world()));
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<std::int32_t>(i) * 7 + 1000 * context.rank();
        }
        const std::size_t bytes = values.size() * sizeof(std::int32_t);
        auto* whole = static_cast<std::int32_t*>(context.allocate(bytes));
        std::int32_t* const block = whole + count * context.rank();
        context.device().copy(whole, values.data(), bytes);
        context.barrier();
        for (int round = 0; round < rounds; ++round) {
          reduce_scatter.launch({whole, block}, extents);
          all_gather.launch({block, whole}, extents);
        }
        context.device().copy(values.data(), whole, bytes);
        // The first round sums what the ranks have, each later one `world` times the same.
        for (std::size_t i = 0; i < values.size(); ++i) {
          std::int32_t expected = static_cast<std::int32_t>(i) * 7 * world() + 1000 * (world() * (world() - 1) / 2);
          for (int round = 1; round < rounds; ++round) expected *= world();
          ASSERT_EQ(values[i], expected) << scatter << ", " << gather << ", seed " << seed << ", element " << i;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, Properties, testing::Values(1, 2, 3, 5, 8),
                         [](const auto& info) { return "world" + std::to_string(info.param); });

}  // namespace
}  // namespace iris::properties_test
