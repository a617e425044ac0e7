// Memory that somebody else has allocated on this machine's GPUs, in worlds of processes and of threads. Skipped where
// there is no GPU.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "adopted_samples.hpp"
#include "error_words.hpp"
#include "gpu_memory.hpp"
#include "gpu_sums.hpp"
#include "iris/jit.hpp"

namespace iris {
namespace {

using test::Algorithm;
using test::bytes;
using test::gpu_target;
using test::GpuMemory;
using test::kernel_of;
using test::Lie;
using test::n;
using test::outcomes_on_gpus;
using test::wrong_sums;
using Kind = GpuMemory::Kind;

/// Before any test that asks for GPUs in this process, which fork() would not let its children do.
TEST(GpuAdoptedProcesses, KernelsTakeWhatOtherProcessesAllocated) {
  const auto outcomes = outcomes_on_gpus(64 << 20, [](Context& context, const DeviceInfo&) {
    std::size_t wrong = 0;
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
    return std::to_string(wrong) + " wrong";
  });
  if (outcomes.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows";
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "0 wrong");
}

TEST(GpuAdoptedProcesses, RefusalsAreToldToAll) {
  const auto outcomes = outcomes_on_gpus(1 << 20, [](Context& context, const DeviceInfo&) {
    const GpuMemory plain(Kind::plain, context.device().index(), 4096);
    std::vector<char> elsewhere(4096);
    void* const memory = context.rank() == 1 ? elsewhere.data() : plain.begin();
    return test::error_of([&] { context.as_symmetric(memory, 4096); });
  });
  if (outcomes.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows";
  EXPECT_EQ(outcomes[0].said, outcomes[1].said);
  EXPECT_NE(outcomes[0].said.find("cannot be done on rank 1: "), std::string::npos) << outcomes[0].said;
}

/// Where the library gives out the same addresses again, which it mostly does.
TEST(GpuAdoptedProcesses, FreedMemoryIsFoundOutWhereItIsAdoptedAgain) {
  const auto outcomes = outcomes_on_gpus(1 << 20, [](Context& context, const DeviceInfo&) {
    std::string said;
    const int device = context.device().index();
    for (const Kind kind : {Kind::plain, Kind::expandable}) {
      auto first = std::make_unique<GpuMemory>(kind, device, bytes);
      char* const begin = first->begin();
      const std::uint64_t number = context.device().allocation_of(begin);
      context.as_symmetric(begin, bytes);
      said += test::error_of([&] { context.as_symmetric(begin, bytes); }).find("freed") == std::string::npos ? "" : "!";
      first.reset();
      first = std::make_unique<GpuMemory>(kind, device, bytes);
      if (first->begin() != begin) return said + "elsewhere;";
      const std::string again = test::error_of([&] { context.as_symmetric(begin, bytes); });
      const bool told = again.find("which was freed before it was released") != std::string::npos;
      said += number != 0 && told ? "told;" : std::to_string(number) + again + ";";
      context.release_symmetric(begin);
      context.as_symmetric(begin, bytes);
      context.release_symmetric(begin);
    }
    return said;
  });
  if (outcomes.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows";
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "told;told;");
}

/// As a segment of PyTorch's grows: hundreds of pages of 2 MiB.
TEST(GpuAdoptedProcesses, HundredsOfPagesAreHandedOverAtOnce) {
  const auto outcomes = outcomes_on_gpus(1 << 20, [](Context& context, const DeviceInfo&) {
    const int number = context.rank();
    std::size_t wrong = 0;
    constexpr std::size_t page = std::size_t{2} << 20;
    constexpr std::size_t pages = 400;
    const GpuMemory memory(Kind::expandable, context.device().index(), pages * page, page);
    context.as_symmetric(memory.begin(), pages * page);
    char* const theirs = static_cast<char*>(context.on_rank(memory.begin(), 1 - number));
    for (std::size_t i = 0; i < pages; ++i) {
      const int value = static_cast<int>(i) * 7 + number;
      context.device().copy(theirs + i * page, &value, sizeof value);
    }
    context.barrier();
    for (std::size_t i = 0; i < pages; ++i) {
      int value = -1;
      context.device().copy(&value, memory.begin() + i * page, sizeof value);
      wrong += value != static_cast<int>(i) * 7 + 1 - number ? 1U : 0U;
    }
    context.release_symmetric(memory.begin());
    return std::to_string(wrong) + " wrong";
  });
  if (outcomes.empty()) GTEST_SKIP() << "needs a GPU that irisgen knows";
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "0 wrong");
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
    const auto replay = [&] {
      device.launch_graph(graph, stream);
      context.synchronize(stream);
    };
    EXPECT_EQ(test::wrong_sum(context, begin, begin + bytes, 9, replay), 0U);
    device.destroy_graph(graph);
    device.destroy_stream(stream);
    context.barrier();
    context.release_symmetric(begin);
    context.release_symmetric(other.begin());
  });
}

}  // namespace
}  // namespace iris
