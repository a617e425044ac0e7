// What must hold among collectives, whatever the data: laws, not values.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"

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

// --- in a stream

/// i32 elements of an argument or intermediate.
std::size_t elements_of(const Argument& argument, const Extents& extents) {
  return static_cast<std::size_t>(bytes_of(argument, extents)) / sizeof(std::int32_t);
}

/// One rank's part of a stream in which an operation stands between kernels that the host never waits for: the next
/// one reads its output, those after that change its inputs, and then it comes again.
class Chain {
 public:
  static constexpr int launches = 5;
  static constexpr std::size_t heap_bytes = 8U << 20U;

  Chain(Context& context, const BuiltOperation& built, const BuiltOperation& add_index, const Extents& extents)
      : context_(context), operation_(context, built), add_index_(context, add_index, {{"n", capacity}}) {
    for (const Argument& argument : built.manifest.arguments) {
      arguments_.push_back(allocate(static_cast<std::size_t>(bytes_of(argument, extents))));
    }
    for (void*& result : results_) result = allocate(arguments_.back().bytes).memory;
  }

  /// Argument 0, 1, … of rank 0, 1, … start with random integers.
  void fill() {
    for (std::size_t i = 0; i + 1 < arguments_.size(); ++i) {
      const RandomStream stream{.seed = 3, .rank = context_.rank(), .argument = static_cast<int>(i)};
      const auto values = random_values(stream, arguments_[i].bytes / 4, Dtype::i32, Op::sum);
      context_.device().copy(arguments_[i].memory, to_bytes(values, Dtype::i32).data(), arguments_[i].bytes);
    }
  }

  void enqueue() {
    std::vector<void*> buffers;
    for (const Buffer& argument : arguments_) buffers.push_back(argument.memory);
    for (void* result : results_) {
      operation_.launch(buffers);
      add_index(arguments_.back(), result);
      for (std::size_t i = 0; i + 1 < arguments_.size(); ++i) add_index(arguments_[i], arguments_[i].memory);
    }
  }

  /// What was read of the output after each launch.
  std::vector<irisgen::Values> results() {
    std::vector<irisgen::Values> read;
    for (const void* result : results_) {
      std::vector<std::byte> content(arguments_.back().bytes);
      context_.device().copy(content.data(), result, content.size());
      read.push_back(to_values(content, Dtype::i32));
    }
    return read;
  }

 private:
  static constexpr std::int64_t capacity = 1 << 16;
  struct Buffer {
    void* memory;
    std::size_t bytes;
  };
  Buffer allocate(std::size_t bytes) { return {context_.allocate(bytes), bytes}; }
  void add_index(const Buffer& from, void* to) {
    add_index_.launch(std::array{from.memory, to}, {{"n", static_cast<std::int64_t>(from.bytes) / 4}});
  }

  Context& context_;
  Operation operation_;
  Operation add_index_;
  std::vector<Buffer> arguments_;
  std::array<void*, launches> results_{};
};

void add_indices(irisgen::Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = round_to(values[i] + static_cast<double>(i), Dtype::i32);
}

/// [launch][rank]: what Chain::results() must be, by the pattern's reference.
std::vector<std::vector<irisgen::Values>> chain_results(const Manifest& manifest, const Extents& extents) {
  const Problem& problem = manifest.problem;
  std::vector<std::vector<irisgen::Values>> inputs(static_cast<std::size_t>(problem.world));
  for (int rank = 0; rank < problem.world; ++rank) {
    for (std::size_t i = 0; i + 1 < manifest.arguments.size(); ++i) {
      const RandomStream stream{.seed = 3, .rank = rank, .argument = static_cast<int>(i)};
      inputs[static_cast<std::size_t>(rank)].push_back(
          random_values(stream, elements_of(manifest.arguments[i], extents), Dtype::i32, Op::sum));
    }
  }
  std::vector<std::vector<irisgen::Values>> results;
  for (int launch = 0; launch < Chain::launches; ++launch) {
    results.emplace_back();
    for (irisgen::Expectation& expected : irisgen::pattern_of(problem).reference(problem, inputs)) {
      add_indices(expected.value);
      results.back().push_back(std::move(expected.value));
    }
    for (auto& arguments : inputs) {
      for (irisgen::Values& values : arguments) add_indices(values);
    }
  }
  return results;
}

/// All of them among few ranks; each in one of the other worlds, in all with IRISGEN_TEST_ALL=1.
std::vector<Algorithm> algorithms_of(int world) {
  const std::vector<Algorithm> all = test::every_algorithm();
  if (test::test_all() || world == 2 || world == 3) return all;
  constexpr std::array others = {1, 5, 8};
  std::vector<Algorithm> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (others.at(i % others.size()) == world) some.push_back(all[i]);
  }
  return some;
}

/// An operation begins for a rank when that rank comes to it and ends for it when it is done with its memory: what it
/// writes elsewhere waits for the owner, and nobody reads or writes here afterwards.
TEST_P(Properties, OperationsStandInAStreamLikeAnyKernel) {
  const BuiltOperation add_index = test::host_operation("add_index", world());
  for (const Algorithm& algorithm : algorithms_of(world())) {
    const Extents extents = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, world(), 17, 21, 5)
                                                       : test::collective_extents(algorithm, world(), 3, 171);
    const Sample sample{.algorithm = algorithm, .world = world(), .dtype = "i32", .extents = extents};
    const BuiltOperation built = build(sample);
    const auto expected = chain_results(built.manifest, extents);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(sample.text() + "seed " + std::to_string(seed));
      World ranks({.size = world(), .heap_bytes = Chain::heap_bytes, .seed = seed});
      std::vector<std::vector<irisgen::Values>> results(static_cast<std::size_t>(world()));
      ranks.run([&](Context& context) {
        Chain chain(context, built, add_index, extents);
        chain.fill();
        context.barrier();
        chain.enqueue();
        context.barrier();
        results[static_cast<std::size_t>(context.rank())] = chain.results();
      });
      for (std::size_t rank = 0; rank < results.size(); ++rank) {
        for (std::size_t launch = 0; launch < expected.size(); ++launch) {
          EXPECT_TRUE(results[rank][launch] == expected[launch][rank]) << "launch " << launch << " on rank " << rank;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, Properties, testing::Values(1, 2, 3, 5, 8),
                         [](const auto& info) { return "world" + std::to_string(info.param); });

/// What a rank gives in a launch, in every element of its input; small, so that sums are exact.
float given(std::size_t launch, int rank) {
  return static_cast<float>(64 * launch + static_cast<std::size_t>(rank) + 1);
}

/// What it gets of that, at a place among so many elements.
float expected_of(const std::string& pattern, std::size_t launch, int world, std::size_t element,
                  std::size_t elements) {
  if (pattern == "broadcast") return given(launch, world / 2);  // the sample's root
  if (pattern == "all_gather" || pattern == "all_to_all") {
    return given(launch, static_cast<int>(element / (elements / static_cast<std::size_t>(world))));
  }
  float sum = 0;
  for (int rank = 0; rank < world; ++rank) sum += given(launch, rank);
  return sum;
}

/// Launches of other lengths, of which none waits for the one before, on memory in which others have left their bytes.
void expect_lengths_in_turn(const BuiltOperation& built, int world, std::uint64_t seed) {
  constexpr std::array<std::int64_t, 9> lengths = {7, 300, 0, 1, 300, 0, 299, 2, 300};
  World ranks({.size = world, .heap_bytes = 4U << 20U, .seed = seed});
  ranks.run([&](Context& context) {
    void* const of_others = context.allocate(1U << 20U);
    context.device().fill(of_others, 1, 1U << 20U);  // as words of a launch to come
    context.free(of_others);
    Operation operation(context, built, {{"n", 300}});
    std::vector<std::vector<void*>> buffers;
    std::vector<std::vector<float>> results;
    for (std::size_t launch = 0; launch < lengths.size(); ++launch) {
      const Extents extents = {{"m", 1}, {"n", lengths.at(launch)}};
      buffers.emplace_back();
      for (const Argument& argument : built.manifest.arguments) {
        const auto bytes = static_cast<std::size_t>(bytes_of(argument, extents));
        buffers.back().push_back(context.allocate(bytes));
        const std::vector<float> values(bytes / sizeof(float), given(launch, context.rank()));
        if (argument.access == Access::read) context.device().copy(buffers.back().back(), values.data(), bytes);
        if (argument.access == Access::write) results.emplace_back(values.size());
      }
    }
    for (std::size_t launch = 0; launch < lengths.size(); ++launch) {
      operation.launch(buffers[launch], {{"n", lengths.at(launch)}});
    }
    context.barrier();
    for (std::size_t launch = 0; launch < lengths.size(); ++launch) {
      std::vector<float>& result = results[launch];
      context.device().copy(result.data(), buffers[launch].back(), result.size() * sizeof(float));
      for (std::size_t i = 0; i < result.size(); ++i) {
        const float right = expected_of(built.manifest.problem.pattern, launch, world, i, result.size());
        if (result[i] == right) continue;
        throw std::runtime_error("launch " + std::to_string(launch) + ", element " + std::to_string(i) + " is " +
                                 std::to_string(result[i]) + ", not " + std::to_string(right));
      }
    }
  });
}

/// A word that an earlier launch has left at another place of its message is none of this one's, nor is a chunk in a
/// slot.
TEST(HostInTurn, LaunchesOfOtherLengthsAreRight) {
  for (const Algorithm& algorithm : test::every_algorithm()) {
    const bool in_chunks = algorithm.variant == "workgroup_specialized";
    if (!(algorithm.variant.starts_with("low_latency") || in_chunks) || test::is_matmul(algorithm)) continue;
    for (const int world : {1, 2, 3, 5}) {
      // So few threads that a rank that is held back may be several launches behind.
      const Sample sample{.algorithm = algorithm,
                          .world = world,
                          .extents = {{"m", 1}},
                          .config = in_chunks ? "blocks: 3, threads: 8" : "blocks: 1, threads: 32"};
      const BuiltOperation built = build(sample);
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_NO_THROW(expect_lengths_in_turn(built, world, seed)) << sample.text() << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace iris::properties_test
