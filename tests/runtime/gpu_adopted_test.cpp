// Memory that somebody else has allocated on this machine's GPUs, in worlds of processes and of threads. Skipped where
// there is no GPU, or for processes fewer than two.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "adopted_samples.hpp"
#include "gpu_memory.hpp"
#include "iris/jit.hpp"
#include "processes.hpp"

namespace iris {
namespace {

using test::Algorithm;
using test::GpuMemory;
using test::Lie;
using Kind = GpuMemory::Kind;

/// The target of this machine's GPUs; nullptr if there are none that irisgen knows.
const irisgen::Target* gpu_target(const DeviceSurvey& survey) {
  return survey.gpus.empty() ? nullptr : irisgen::find_target(survey.gpus.front().target);
}

std::string kernel_of(const std::string& pattern, const std::string& variant, int world) {
  return "irisgen: 1\nkernels:\n  - {name: sample, pattern: " + pattern + ", variant: " + variant +
         ", dtype: i32, world: " + std::to_string(world) + ", shape: {n: dynamic}, config: {blocks: 8}}\n";
}

constexpr std::size_t n = 300'000;
constexpr std::size_t bytes = n * sizeof(int);

std::int32_t value(int rank, std::size_t i, int launch) {
  return (rank + 1) * static_cast<std::int32_t>(7 * i % 1000 + 13 * static_cast<std::size_t>(launch));
}

/// Sums of two ranks, from input to output; elements that are wrong.
std::size_t wrong_sums(Context& context, Operation& sum, void* input, void* output) {
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

/// Before any test that asks for GPUs in this process, which fork() would not let its children do.
TEST(GpuAdoptedProcesses, KernelsTakeWhatOtherProcessesAllocated) {
  const auto outcomes = test::run_ranks(2, [](int) {
    const DeviceSurvey survey = survey_gpus();
    const irisgen::Target* target = gpu_target(survey);
    if (target == nullptr || survey.gpus.size() < 2) return "skipped: needs two GPUs " + survey.missing;
    World world = World::join({.target = std::string(target->name), .heap_bytes = 64 << 20});
    std::size_t wrong = 0;
    world.run([&](Context& context) {
      Operation sum = jit(context, kernel_of("all_reduce", "two_shot", 2), {.capacity = {{"n", n}}});
      const int device = context.device().index();
      const GpuMemory plain(Kind::plain, device, 4 * bytes);
      const GpuMemory expandable(Kind::expandable, device, 4 * bytes);
      char* const first = plain.begin() + 512;  // parts of one allocation, as a caching allocator gives them out
      char* const second = plain.begin() + 2 * bytes;
      char* const third = expandable.across(2 * bytes);
      for (int round = 0; round < 3; ++round) {
        context.as_symmetric(first, bytes);
        context.as_symmetric(second, bytes);
        context.as_symmetric(third, 2 * bytes);
        void* on_heap = context.allocate(bytes);
        wrong += wrong_sums(context, sum, first, second);
        wrong += wrong_sums(context, sum, third, third + bytes);
        wrong += wrong_sums(context, sum, second, third);
        wrong += wrong_sums(context, sum, on_heap, first);
        context.free(on_heap);
        for (char* begin : {first, second, third}) context.release_symmetric(begin);
      }
    });
    return std::to_string(wrong) + " wrong";
  });
  if (outcomes[0].said.starts_with("skipped")) GTEST_SKIP() << outcomes[0].said;
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "0 wrong");
}

TEST(GpuAdoptedProcesses, RefusalsAreToldToAll) {
  const auto outcomes = test::run_ranks(2, [](int number) {
    const DeviceSurvey survey = survey_gpus();
    const irisgen::Target* target = gpu_target(survey);
    if (target == nullptr || survey.gpus.size() < 2) return "skipped: needs two GPUs " + survey.missing;
    World world = World::join({.target = std::string(target->name), .heap_bytes = 1 << 20});
    std::string said;
    world.run([&](Context& context) {
      const GpuMemory plain(Kind::plain, context.device().index(), 4096);
      std::vector<char> elsewhere(4096);
      try {
        context.as_symmetric(number == 1 ? elsewhere.data() : plain.begin(), 4096);
      } catch (const std::exception& error) {
        said = error.what();
      }
    });
    return said;
  });
  if (outcomes[0].said.starts_with("skipped")) GTEST_SKIP() << outcomes[0].said;
  EXPECT_EQ(outcomes[0].said, outcomes[1].said);
  EXPECT_NE(outcomes[0].said.find("cannot be done on rank 1: "), std::string::npos) << outcomes[0].said;
}

class GpuAdopted : public testing::TestWithParam<Algorithm> {
 protected:
  void SetUp() override {
    survey_ = survey_gpus();
    target_ = gpu_target(survey_);
    if (target_ == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_.missing;
  }

  DeviceSurvey survey_;
  const irisgen::Target* target_ = nullptr;
};

TEST_P(GpuAdopted, EveryBitIsAsOnTheHeap) {
  const test::Sample sample = test::sample_for_bits(GetParam(), 2);
  SCOPED_TRACE(sample.text());
  const test::VerifiedKernel kernel =
      test::verified(build_operation(test::plan_of(sample, target_->name)), sample.extents);
  World world({.size = 2, .target = std::string(target_->name), .heap_bytes = 16 << 20});
  for (const Kind kind : {Kind::plain, Kind::expandable}) {
    std::mutex mutex;
    std::vector<std::unique_ptr<GpuMemory>> memories;
    const auto allocate = [&](Context& context, std::size_t size) {
      auto memory = std::make_unique<GpuMemory>(kind, context.device().index(), size + 256);
      const std::lock_guard lock(mutex);
      memories.push_back(std::move(memory));
      return memories.back()->across(size);
    };
    for (const Lie lie : test::every_lie) {
      world.run([&](Context& context) {
        EXPECT_EQ(test::differing_bytes(context, kernel, lie, allocate), 0U)
            << "rank " << context.rank() << ", lie " << static_cast<int>(lie) << ", kind " << static_cast<int>(kind);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuAdopted, testing::ValuesIn(test::every_algorithm()),
                         [](const auto& info) { return info.param.name(); });

/// A graph launches with the windows that it was captured with, whatever has been launched since.
TEST(GpuAdoptedGraphs, KeepTheirWindows) {
  const DeviceSurvey survey = survey_gpus();
  const irisgen::Target* target = gpu_target(survey);
  if (target == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
  World world({.size = 2, .target = std::string(target->name), .heap_bytes = 64 << 20});
  world.run([&](Context& context) {
    Device& device = context.device();
    Operation sum = jit(context, kernel_of("all_reduce", "two_shot", 2), {.capacity = {{"n", n}}});
    const GpuMemory captured(Kind::expandable, device.index(), 2 * bytes);
    const GpuMemory other(Kind::plain, device.index(), 2 * bytes);
    char* const begin = captured.across(2 * bytes);
    context.as_symmetric(begin, 2 * bytes);
    context.as_symmetric(other.begin(), 2 * bytes);
    const Stream stream = device.create_stream();
    EXPECT_EQ(wrong_sums(context, sum, begin, begin + bytes), 0U);
    context.barrier();
    device.begin_capture(stream);
    sum.launch({begin, begin + bytes}, {{"n", n}}, stream);
    const Graph graph = device.end_capture(stream);
    context.synchronize(stream);
    EXPECT_EQ(wrong_sums(context, sum, other.begin(), other.begin() + bytes), 0U);
    std::vector<std::int32_t> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = value(context.rank(), i, 9);
    device.copy(begin, values.data(), bytes);
    context.barrier();
    device.launch_graph(graph, stream);
    context.synchronize(stream);
    context.barrier();
    device.copy(values.data(), begin + bytes, bytes);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += values[i] != value(0, i, 9) + value(1, i, 9) ? 1U : 0U;
    EXPECT_EQ(wrong, 0U);
    device.destroy_graph(graph);
    device.destroy_stream(stream);
    context.barrier();
    context.release_symmetric(begin);
    context.release_symmetric(other.begin());
  });
}

}  // namespace
}  // namespace iris
