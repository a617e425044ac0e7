// A hundred thousand launches of many kernels, one after another in a stream or in a graph, on this machine's GPUs,
// while ranks fall behind and catch up. Skipped where there is no GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "error_words.hpp"
#include "gpu_sums.hpp"
#include "iris/jit.hpp"
#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"

namespace iris {
namespace {

using test::Algorithm;
using test::Sample;

constexpr int rounds = 200;
constexpr int launches_of_round = 500;

/// A kernel, its inputs on every rank, and the outputs that have been found right.
struct Kernel {
  Sample sample;
  BuiltOperation built;
  std::map<std::string, BuffersOfRanks> inputs;
  BuffersOfRanks outputs;
};

Kernel make_kernel(const Sample& sample, const std::string& target, std::uint64_t seed) {
  Kernel kernel = {
      .sample = sample, .built = build_operation(test::plan_of(sample, target)), .inputs = {}, .outputs = {}};
  int position = 0;
  for (const Argument& argument : kernel.built.manifest.arguments) {
    RandomStream stream{.seed = seed, .rank = 0, .argument = position++, .launch = 0};
    if (argument.access == Access::write) continue;
    const auto count = static_cast<std::size_t>(bytes_of(argument, sample.extents) / bytes_of(argument.dtype));
    BuffersOfRanks& buffers = kernel.inputs[argument.name];
    for (; stream.rank < sample.world; ++stream.rank)
      buffers.push_back(to_bytes(random_values(stream, count, argument.dtype, Op::sum), argument.dtype));
  }
  RunOptions options;
  options.inputs = kernel.inputs;
  RunReport report = run_operation(kernel.built, options);
  if (!report.verified || !report.passed) throw std::runtime_error("wrong results:\n" + sample.text());
  kernel.outputs = std::move(report.outputs.front().content);
  return kernel;
}

std::vector<Sample> samples_of(int world) {
  std::vector<Sample> all;
  for (const Algorithm& algorithm : test::every_algorithm()) {
    if (test::is_matmul(algorithm)) {
      const std::vector<Sample> products = test::matrix_unit_samples(algorithm, world);
      const auto widest = std::ranges::find_if(products, [](const Sample& each) {
        return each.config.find("tile_n: 256") != std::string::npos && each.dtype != "e4m3";
      });
      all.insert(all.end(), {products.at(all.size() % products.size()), *widest});
    } else {
      const bool is_exact = !test::row_of(algorithm)->deterministic;  // as it has to be for its bits to be the same
      for (const std::int64_t n : {5, 20000}) {
        all.push_back(
            {.algorithm = algorithm,
             .world = world,
             .dtype = is_exact ? "i32"
                      : n == 5 ? "f32"
                               : "bf16",
             .extents = test::collective_extents(algorithm, world, 3, n),
             // Chunks so short that they go round a ring.
             .config = test::small_grid(algorithm, 128) + (test::has_key(algorithm, "chunk") ? ", chunk: 64" : "")});
      }
    }
  }
  return all;
}

/// A kernel on one rank.
class OnRank {
 public:
  OnRank(Context& context, const Kernel& kernel)
      : context_(context), kernel_(&kernel), operation_(context, kernel.built) {
    for (const Argument& argument : kernel.built.manifest.arguments) {
      buffers_.push_back(context.allocate(static_cast<std::size_t>(bytes_of(argument, kernel.sample.extents))));
      if (argument.access == Access::write) output_ = buffers_.back();
    }
    use(kernel);
  }

  /// Takes inputs and outputs from now on from this one, which differs from the other in nothing else.
  void use(const Kernel& kernel) {
    kernel_ = &kernel;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const auto inputs = kernel.inputs.find(operation_.manifest().arguments[i].name);
      if (inputs == kernel.inputs.end()) continue;
      const std::vector<std::byte>& input = inputs->second[static_cast<std::size_t>(context_.rank())];
      context_.device().copy(buffers_[i], input.data(), input.size());
    }
  }

  void launch(Stream stream = nullptr) { operation_.launch(buffers_, {}, stream); }
  void poison() {
    context_.device().copy(output_, std::vector(expected().size(), std::byte{0xa5}).data(), expected().size());
  }
  void expect_same_bits() {
    std::vector<std::byte> actual(expected().size());
    context_.device().copy(actual.data(), output_, actual.size());
    if (actual == expected()) return;
    const auto [at, _] = std::ranges::mismatch(actual, expected());
    ADD_FAILURE() << "rank " << context_.rank() << ", from byte " << at - actual.begin() << " of " << actual.size()
                  << ":\n"
                  << kernel_->sample.text();
  }

 private:
  const std::vector<std::byte>& expected() const { return kernel_->outputs[static_cast<std::size_t>(context_.rank())]; }

  Context& context_;
  const Kernel* kernel_;
  Operation operation_;
  std::vector<void*> buffers_;
  void* output_ = nullptr;
};

constexpr int changes_of_data = 100;
constexpr int replays_of_data = 20;

/// Launches each kernel once.
Graph capture(Context& context, std::vector<OnRank>& all) {
  context.device().begin_capture(nullptr);
  for (OnRank& each : all) each.launch();
  return context.device().end_capture(nullptr);
}

/// `data`: the same kernels several times, with other inputs.
void replay(Context& context, const std::vector<std::vector<Kernel>>& data) {
  std::vector<OnRank> all;
  all.reserve(data.front().size());
  for (const Kernel& kernel : data.front()) all.emplace_back(context, kernel);
  for (OnRank& each : all) each.launch();  // a copy's first use of a stream is no part of a graph
  context.synchronize();
  const Graph graph = capture(context, all);
  std::mt19937 delays(static_cast<unsigned>(context.rank()));
  for (int change = 0; change < changes_of_data; ++change) {
    context.barrier();  // nobody reads an input any more that is being changed, nor writes an output
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].use(data[static_cast<std::size_t>(change) % data.size()][i]);
      all[i].poison();
    }
    context.barrier();
    for (int replay = 0; replay < replays_of_data; ++replay) {
      if (delays() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays() % 500));
      context.device().launch_graph(graph, nullptr);
    }
    context.synchronize();
    for (OnRank& each : all) each.expect_same_bits();
  }
  context.barrier();
  context.device().destroy_graph(graph);
}

void stress(Context& context, const std::vector<Kernel>& kernels) {
  std::vector<OnRank> all;
  all.reserve(kernels.size());
  for (const Kernel& kernel : kernels) all.emplace_back(context, kernel);
  std::mt19937 order(11);  // the same on every rank
  std::mt19937 delays(static_cast<unsigned>(context.rank()));
  for (int round = 0; round < rounds; ++round) {
    context.barrier();  // nobody writes a buffer that is being poisoned
    for (OnRank& each : all) each.poison();
    context.barrier();
    std::set<std::size_t> launched;
    for (int launch = 0; launch < launches_of_round; ++launch) {
      if (delays() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays() % 500));
      const std::size_t next = order() % all.size();
      all[next].launch();
      launched.insert(next);
    }
    context.synchronize();
    for (const std::size_t each : launched) all[each].expect_same_bits();
  }
}

/// Each kernel alone, every launch in another stream than the one before.
void change_streams(Context& context, const std::vector<Kernel>& kernels) {
  const std::array<Stream, 3> streams = {nullptr, context.device().create_stream(), context.device().create_stream()};
  for (const Kernel& kernel : kernels) {
    OnRank each(context, kernel);
    each.poison();
    context.barrier();
    for (std::size_t launch = 0; launch < launches_of_round; ++launch) each.launch(streams.at(launch % streams.size()));
    for (const Stream stream : streams) context.synchronize(stream);
    each.expect_same_bits();
    context.barrier();
  }
  for (const Stream stream : std::span(streams).subspan(1)) context.device().destroy_stream(stream);
}

TEST(GpuStress, LaunchesInSeveralStreamsGiveTheSameBits) {
  const DeviceSurvey survey = survey_gpus();
  if (survey.gpus.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
  const std::string target = survey.gpus.front().target;
  const int world = std::max(2, static_cast<int>(survey.gpus.size()));
  std::vector<Kernel> kernels;
  for (const Sample& sample : samples_of(world)) kernels.push_back(make_kernel(sample, target, 5));
  World ranks({.size = world, .target = target, .heap_bytes = 512U << 20U, .seed = 0});
  ranks.run([&](Context& context) { change_streams(context, kernels); });
}

/// As of PyTorch's tensors: copies in the null stream before and after a launch that names none.
TEST(GpuStress, ALaunchWithoutAStreamIsInOrderWithTheNullStream) {
  const DeviceSurvey survey = survey_gpus();
  const irisgen::Target* target = test::gpu_target(survey);
  if (target == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
  // What CUDA and HIP call it where null means something else.
  const Stream null_stream = reinterpret_cast<void*>(1);  // NOLINT(performance-no-int-to-ptr)
  constexpr std::size_t count = std::size_t{64} << 20;
  constexpr std::size_t size = count * sizeof(int);  // takes longer to copy than to enqueue what comes next
  World world({.size = 1, .target = std::string(target->name), .heap_bytes = 4 * size + (16U << 20U)});
  world.run([&](Context& context) {
    Device& device = context.device();
    const Extents extents = {{"n", static_cast<std::int64_t>(count)}};
    Operation copy = jit(context, test::kernel_of("all_gather", "direct", 1), {.capacity = extents});
    char* const source = static_cast<char*>(context.allocate(size));
    char* const input = static_cast<char*>(context.allocate(size));
    char* const output = static_cast<char*>(context.allocate(size));
    char* const result = static_cast<char*>(context.allocate(size));
    for (int round = 1; round <= 5; ++round) {
      device.fill(source, static_cast<unsigned char>(round), size);
      device.enqueue_copy(input, source, size, null_stream);
      copy.launch({input, output}, extents);
      device.enqueue_copy(result, output, size, null_stream);
      device.synchronize(null_stream);
      std::vector<unsigned char> last(4096);
      device.copy(last.data(), result + size - last.size(), last.size());
      EXPECT_EQ(last, std::vector<unsigned char>(last.size(), static_cast<unsigned char>(round)));
    }
    context.synchronize();
    for (char* begin : {source, input, output, result}) context.free(begin);
  });
}

constexpr int side = 512;

/// Products of a matrix by one that moves its columns one to the right, forth and back between two buffers: what a
/// launch reads is what the one before has just written, which a GPU that is not shared has set up early.
void expect_moved_columns(Context& context, const std::string& variant) {
  constexpr std::size_t bytes = std::size_t{side} * side * sizeof(std::uint16_t);
  Device& device = context.device();
  Operation multiply =
      jit(context, "irisgen: 1\nkernels: [{name: move, pattern: matmul, world: 1, dtype: bf16, variant: " + variant +
                       ", shape: {m: 512, n: 512, k: 512}}]\n");
  std::vector<std::uint16_t> first(std::size_t{side} * side);
  std::vector<std::uint16_t> moving(first.size(), 0);
  for (std::size_t row = 0; row < side; ++row) {
    for (std::size_t column = 0; column < side; ++column) {
      first[row * side + column] = static_cast<std::uint16_t>(0x3f80 + (row * 7 + column) % 2048);  // from 1 on
    }
    moving[row * side + (row + 1) % side] = 0x3f80;
  }
  void* const there = context.allocate(bytes);
  void* const back = context.allocate(bytes);
  void* const by = context.allocate(bytes);
  device.copy(there, first.data(), bytes);
  device.copy(by, moving.data(), bytes);
  std::size_t moved = 0;
  const auto forth_and_back = [&](int times) {
    for (int i = 0; i < times; ++i) {
      multiply.launch({there, by, back});
      multiply.launch({back, by, there});
    }
  };
  const auto expect_moved = [&](std::size_t by_more) {
    moved += by_more;
    context.synchronize();
    std::vector<std::uint16_t> now(first.size());
    device.copy(now.data(), there, bytes);
    std::size_t wrong = 0;
    for (std::size_t row = 0; row < side; ++row) {
      for (std::size_t column = 0; column < side; ++column) {
        wrong += now[row * side + (column + moved) % side] != first[row * side + column] ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0U) << variant << ", moved by " << moved;
  };
  for (int round = 0; round < 20; ++round) {
    forth_and_back(500);
    expect_moved(1000);
  }
  device.begin_capture(nullptr);
  forth_and_back(50);
  const Graph graph = device.end_capture(nullptr);
  for (int replay = 0; replay < 100; ++replay) device.launch_graph(graph, nullptr);
  expect_moved(10'000);
  device.destroy_graph(graph);
  for (void* buffer : {there, back, by}) context.free(buffer);
}

TEST(GpuStress, ALaunchReadsWhatTheOneBeforeItWrote) {
  const DeviceSurvey survey = survey_gpus();
  const irisgen::Target* target = test::gpu_target(survey);
  if (target == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
  World world({.size = 1, .target = std::string(target->name), .heap_bytes = 64U << 20U});
  world.run([](Context& context) {
    for (const char* variant : {"tiled", "split_k"}) expect_moved_columns(context, variant);
  });
}

/// Graphs are launched without the runtime, so the kernels themselves must notice.
TEST(GpuStress, GraphsOfOneOperationThatOverlapAreTold) {
  const DeviceSurvey survey = survey_gpus();
  const irisgen::Target* target = test::gpu_target(survey);
  if (target == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
  constexpr std::size_t count = std::size_t{16} << 20;
  World world({.size = 1, .target = std::string(target->name), .heap_bytes = 3 * count * sizeof(int)});
  world.run([&](Context& context) {
    Device& device = context.device();
    const Extents extents = {{"n", static_cast<std::int64_t>(count)}};
    Operation copy =
        jit(context,
            "irisgen: 1\nkernels: [{name: copy, pattern: all_gather, variant: direct, world: 1, dtype: f32, "
            "shape: {n: dynamic}, config: {blocks: 4}}]\n",
            {.capacity = extents});
    void* const input = context.allocate(count * sizeof(int));
    void* const output = context.allocate(count * sizeof(int));
    const Stream first = device.create_stream();
    const Stream second = device.create_stream();
    device.begin_capture(first);
    for (int i = 0; i < 20; ++i) copy.launch({input, output}, extents, first);
    const Graph graph = device.end_capture(first);
    for (int i = 0; i < 3; ++i) device.launch_graph(graph, first);
    EXPECT_NO_THROW(context.synchronize(first)) << "they have followed one another";
    device.begin_capture(second);
    for (int i = 0; i < 20; ++i) copy.launch({input, output}, extents, second);
    const Graph other = device.end_capture(second);
    device.launch_graph(graph, first);
    device.launch_graph(other, second);
    device.synchronize(first);
    test::expect_part(test::error_of([&] { context.synchronize(second); }),
                      "copy: two of its launches on rank 0 overlapped");
    for (const Graph each : {graph, other}) device.destroy_graph(each);
    for (const Stream stream : {first, second}) device.destroy_stream(stream);
    for (void* buffer : {input, output}) context.free(buffer);
  });
}

TEST(GpuStress, LaunchesOfManyKernelsInTurnGiveTheSameBits) {
  const DeviceSurvey survey = survey_gpus();
  if (survey.gpus.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
  const std::string target = survey.gpus.front().target;
  const int world = std::max(2, static_cast<int>(survey.gpus.size()));
  std::vector<Kernel> kernels;
  for (const Sample& sample : samples_of(world)) kernels.push_back(make_kernel(sample, target, 3));
  World ranks({.size = world, .target = target, .heap_bytes = 512U << 20U, .seed = 0});
  ranks.run([&](Context& context) { stress(context, kernels); });
}

TEST(GpuStress, ReplayedGraphsGiveTheSameBits) {
  const DeviceSurvey survey = survey_gpus();
  if (survey.gpus.size() < 2) GTEST_SKIP() << "needs two GPUs: copies of ranks that share one are in no graph";
  const std::string target = survey.gpus.front().target;
  const int world = static_cast<int>(survey.gpus.size());
  std::vector<std::vector<Kernel>> data(2);
  for (std::uint64_t seed = 0; seed < data.size(); ++seed) {
    for (const Sample& sample : samples_of(world)) data[seed].push_back(make_kernel(sample, target, seed));
  }
  World ranks({.size = world, .target = target, .heap_bytes = 512U << 20U, .seed = 0});
  ranks.run([&](Context& context) { replay(context, data); });
}

}  // namespace
}  // namespace iris
