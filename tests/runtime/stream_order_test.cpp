// Operations among other work of a stream, for which the host never waits.

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"

namespace iris::stream_order_test {
namespace {

using test::Algorithm;
using test::build;
using test::Sample;

class InAStream : public testing::TestWithParam<int> {
 protected:
  int world() const { return GetParam(); }
};

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
TEST_P(InAStream, OperationsStandLikeAnyKernel) {
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

INSTANTIATE_TEST_SUITE_P(Worlds, InAStream, testing::Values(1, 2, 3, 5, 8),
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
}  // namespace iris::stream_order_test
