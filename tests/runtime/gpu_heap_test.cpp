// Symmetric heaps that grow and give back on this machine's GPUs, in worlds of processes and of threads. Skipped where
// there is no GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "gpu_sums.hpp"
#include "iris/jit.hpp"

namespace iris {
namespace {

using test::bytes;
using test::error_of;
using test::gpu_target;
using test::kernel_of;
using test::n;
using test::outcomes_on_gpus;
using test::wrong_sums;

constexpr std::size_t MiB = std::size_t{1} << 20;

Operation sum_of_two(Context& context) {
  return jit(context, kernel_of("all_reduce", "two_shot", 2), {.capacity = {{"n", n}}});
}

/// Sums on memory from before and after growth, which lies in several pieces; what goes wrong, in words.
std::string grow_under_kernels(Context& context) {
  const std::vector<char*> bases(context.heap_bases().begin(), context.heap_bases().end());
  Operation sum = sum_of_two(context);
  char* const early = static_cast<char*>(context.allocate(2 * bytes));
  std::size_t wrong = wrong_sums(context, sum, early, early + bytes);
  std::string said;
  for (int round = 0; round < 5; ++round) {
    std::vector<void*> grown;
    for (const std::size_t size : {5 * MiB, 50 * MiB, 700 * MiB}) {
      char* const memory = static_cast<char*>(context.allocate(size));
      grown.push_back(memory);
      char* const end = memory + size - 2 * bytes;
      wrong += wrong_sums(context, sum, early, end + bytes);
      wrong += wrong_sums(context, sum, end, memory);
      wrong += wrong_sums(context, sum, memory, early);
    }
    for (void* memory : grown) context.free(memory);
    if (context.trim() < 700 * MiB) said += "gives back too little; ";
    wrong += wrong_sums(context, sum, early, early + bytes);
  }
  if (!std::ranges::equal(bases, context.heap_bases())) said += "the heap has moved; ";
  return said + std::to_string(wrong) + " wrong";
}

/// Most of a GPU's memory as a heap, and then as a plain allocation, which finds room only if the heap has given back.
std::string give_back_to_others(Context& context, std::size_t memory_bytes) {
  const std::size_t most = memory_bytes / 10 * 6 / MiB * MiB;
  for (int round = 0; round < 3; ++round) {
    context.free(context.allocate(most));
    context.trim();
    context.barrier();
    const std::string error = error_of([&] { context.device().release(context.device().allocate(most)); });
    context.barrier();
    if (!error.empty()) return error;
  }
  return {};
}

std::string grow_often(Context& context, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    context.free(context.allocate(9 * MiB));
    if (context.trim() < 5 * MiB) return "round " + std::to_string(round) + " gives back too little";
  }
  return {};
}

std::vector<test::ProcessOutcome> growing(const std::function<std::string(Context&, const DeviceInfo&)>& body,
                                          std::size_t gpus = 1) {
  return outcomes_on_gpus(4 * MiB, body, test::Heaps::growing, gpus);
}

// Before any test that asks for GPUs in this process, which fork() would not let its children do.

TEST(GpuHeapOfProcesses, GrowsUnderKernels) {
  const auto outcomes = growing([](Context& context, const DeviceInfo&) { return grow_under_kernels(context); });
  if (outcomes.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows";
  test::expect_all_say(outcomes, "0 wrong");
}

TEST(GpuHeapOfProcesses, GivesBackToOthers) {
  const auto outcomes = growing(
      [](Context& context, const DeviceInfo& gpu) { return give_back_to_others(context, gpu.memory_bytes); }, 2);
  if (outcomes.empty()) GTEST_SKIP() << "needs two GPUs";
  test::expect_all_say(outcomes, "");
}

TEST(GpuHeapOfProcesses, GrowsOften) {
  const auto outcomes = growing([](Context& context, const DeviceInfo&) { return grow_often(context, 1000); });
  if (outcomes.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows";
  test::expect_all_say(outcomes, "");
}

class GpuHeap : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceSurvey survey = survey_gpus();
    const irisgen::Target* target = gpu_target(survey);
    if (target == nullptr) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey.missing;
    memory_bytes_ = survey.gpus.front().memory_bytes;
    gpus_ = survey.gpus.size();
    options_ = {.size = 2, .target = std::string(target->name), .heap_bytes = 4 * MiB, .heap_limit = memory_bytes_};
  }

  std::size_t memory_bytes_ = 0;
  std::size_t gpus_ = 0;
  WorldOptions options_;
};

TEST_F(GpuHeap, GrowsUnderKernels) {
  World(options_).run([](Context& context) { EXPECT_EQ(grow_under_kernels(context), "0 wrong"); });
}

TEST_F(GpuHeap, GivesBackToOthers) {
  if (gpus_ < 2) GTEST_SKIP() << "needs two GPUs";
  World(options_).run([&](Context& context) { EXPECT_EQ(give_back_to_others(context, memory_bytes_), ""); });
}

TEST_F(GpuHeap, GrowsOften) {
  World(options_).run([](Context& context) { EXPECT_EQ(grow_often(context, 1000), ""); });
}

/// A graph has its addresses from before the heap grew, and from before it gave back.
TEST_F(GpuHeap, GraphsStayValid) {
  World(options_).run([](Context& context) {
    Device& device = context.device();
    Operation sum = sum_of_two(context);
    char* const begin = static_cast<char*>(context.allocate(2 * bytes));
    const Stream stream = device.create_stream();
    EXPECT_EQ(wrong_sums(context, sum, begin, begin + bytes), 0U);
    device.begin_capture(stream);
    sum.launch({begin, begin + bytes}, {{"n", n}}, stream);
    const Graph graph = device.end_capture(stream);
    const auto expect_right = [&](int number) {
      const auto replay = [&] {
        device.launch_graph(graph, stream);
        context.synchronize(stream);
      };
      EXPECT_EQ(test::wrong_sum(context, begin, begin + bytes, number, replay), 0U) << "launch " << number;
    };
    expect_right(1);
    char* const grown = static_cast<char*>(context.allocate(900 * MiB));
    expect_right(2);
    EXPECT_EQ(wrong_sums(context, sum, grown + 800 * MiB, grown), 0U);
    expect_right(3);
    context.free(grown);
    EXPECT_GT(context.trim(), 0U);
    expect_right(4);
    device.destroy_graph(graph);
    device.destroy_stream(stream);
  });
}

TEST_F(GpuHeap, SaysWhichGpuHasNoMoreMemory) {
  options_.heap_limit = 4 * memory_bytes_;
  World(options_).run([&](Context& context) {
    Operation sum = sum_of_two(context);
    const std::string error = error_of([&] { context.allocate(2 * memory_bytes_); });
    EXPECT_NE(error.find(" cannot be done on rank "), std::string::npos) << error;
    EXPECT_NE(error.find("the symmetric heap cannot grow from "), std::string::npos) << error;
    EXPECT_NE(error.find("hipMemCreate"), std::string::npos) << error;
    char* const memory = static_cast<char*>(context.allocate(100 * MiB));
    EXPECT_EQ(wrong_sums(context, sum, memory, memory + 99 * MiB - bytes), 0U);
  });
}

}  // namespace
}  // namespace iris
