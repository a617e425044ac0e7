// What an Operation asks of a GPU's library, for each launch.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler_samples.hpp"
#include "host_kernels.hpp"
#include "iris/dlpack.hpp"
#include "iris/fill.hpp"
#include "iris/world.hpp"
#include "tests/runtime/fake_hip.hpp"
#include "variable.hpp"

namespace iris::hip_operation_test {
namespace {

using test::error_of;

const Extents extents = {{"n", 64}};

/// One rank on a GPU of the tests' own library, an operation of one kernel, two streams and two buffers of 64 integers.
class HipOperation : public testing::Test {
 protected:
  struct Rank {
    Context& context;
    Operation operation;
    Stream first;
    Stream second;
    std::array<void*, 2> buffers;

    void launch(Stream stream) { operation.launch(buffers, extents, stream); }
    std::string launch_failure(Stream stream) {
      return error_of([&] { launch(stream); });
    }
  };

  void SetUp() override {
    void* library = dlopen(IRISGEN_FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakeHip* (*)()>(dlsym(library, "fake_hip_state"))();
    *fake_ = {};
  }

  void with_operation(const std::function<void(Rank&)>& body, const std::vector<Step>& steps = {}) {
    BuiltOperation built = test::host_operation("known", 1);
    built.manifest.target = built.code[0].target = "gfx90a";
    if (!steps.empty()) built.manifest.schedules[0].steps = steps;
    World world({.size = 1, .target = "gfx90a", .heap_bytes = 1 << 20});
    world.run([&](Context& context) {
      Device& device = context.device();
      Rank rank{context,
                Operation(context, built, extents),
                device.create_stream(),
                device.create_stream(),
                {context.allocate(256), context.allocate(256)}};
      body(rank);
      for (const Stream stream : {rank.first, rank.second}) {
        context.synchronize(stream);
        device.destroy_stream(stream);
      }
    });
  }

  const test::Variable library_{"IRISGEN_HIP_LIBRARY", IRISGEN_FAKE_HIP};
  FakeHip* fake_ = nullptr;
};

TEST_F(HipOperation, TakesAdoptedMemoryThatTheLibraryAllocated) {
  with_operation([this](Rank& rank) {
    Context& context = rank.context;
    char* const memory = static_cast<char*>(context.device().allocate(1024));
    context.as_symmetric(memory + 256, 512);
    rank.operation.launch({memory + 256, memory + 512}, extents);
    EXPECT_EQ(fake_->launches.size(), 1U);
    EXPECT_NE(error_of([&] { rank.operation.launch({memory + 256, memory + 576}, extents); }), "") << "beyond the end";
    context.release_symmetric(memory + 256);
    EXPECT_NE(error_of([&] { rank.operation.launch({memory + 256, memory + 512}, extents); }), "");
    context.device().release(memory);
    std::array<char, 512> elsewhere{};
    const std::string error = error_of([&] { context.as_symmetric(elsewhere.data(), elsewhere.size()); });
    EXPECT_NE(error.find("is no allocation of the GPU's library"), std::string::npos) << error;
  });
}

TEST_F(HipOperation, TakesTensorsOfDlpackThatItsGpuAddresses) {
  using Kind = DlpackDevice::Kind;
  with_operation([](Rank& rank) {
    EXPECT_EQ(to_string(dlpack_device(rank.context)), "rocm:0");
    const DlpackTensor ours(to_dlpack(zeros(rank.context, {16})));
    EXPECT_EQ(ours.device(), (DlpackDevice{Kind::rocm, 0}));
    ours.require_on(rank.context);
    std::array<float, 4> memory{};
    const auto words = [&](const DlpackDevice& device) {
      return error_of(
          [&] { DlpackTensor(to_dlpack(TensorView(memory.data(), {4}), device)).require_on(rank.context); });
    };
    EXPECT_EQ(words({Kind::rocm_host, 0}), "");
    EXPECT_EQ(words({Kind::rocm, 1}), "a tensor of DLPack is f32 (4) on rocm:1, and this rank computes on rocm:0");
    EXPECT_NE(words({Kind::cpu, 0}), "");
    EXPECT_NE(words({Kind::cuda_host, 0}), "");
  });
}

TEST_F(HipOperation, LaunchesInOneStreamWithoutMore) {
  with_operation([this](Rank& rank) {
    const auto others = [this] {
      return std::tuple(fake_->live_allocations, fake_->copies, fake_->fills, fake_->synchronized.size());
    };
    const auto before = others();
    for (int launch = 0; launch < 3; ++launch) rank.launch(rank.first);
    EXPECT_EQ(fake_->launches.size(), 3U);
    EXPECT_EQ(fake_->launches.back().stream, rank.first);
    EXPECT_TRUE(fake_->waits.empty());
    EXPECT_TRUE(fake_->records.empty());
    EXPECT_EQ(others(), before) << "no memory is taken, copied or set, and the host waits for nothing";
  });
}

TEST_F(HipOperation, LetsALaunchInAnotherStreamWaitForTheLast) {
  with_operation([this](Rank& rank) {
    const int events = fake_->live_events;
    rank.launch(rank.first);
    rank.launch(rank.second);
    ASSERT_EQ(fake_->records.size(), 1U);
    const auto [event, last] = fake_->records[0];
    EXPECT_EQ(last, rank.first);
    EXPECT_EQ(fake_->waits, (std::vector{std::pair(rank.second, event)}));
    rank.launch(rank.second);
    EXPECT_EQ(fake_->waits.size(), 1U);
    rank.launch(rank.first);
    EXPECT_EQ(fake_->records.back(), std::pair(event, rank.second));
    EXPECT_EQ(fake_->waits.back(), std::pair(rank.first, event));
    EXPECT_EQ(fake_->live_events, events) << "a launch makes none, for which other ranks' kernels might have to end";
  });
  EXPECT_EQ(fake_->live_events, 0);
}

TEST_F(HipOperation, WaitsForNoLaunchThatIsDone) {
  with_operation([this](Rank& rank) {
    rank.launch(rank.first);
    rank.context.synchronize(rank.first);
    rank.launch(rank.second);
    EXPECT_TRUE(fake_->waits.empty());
  });
}

TEST_F(HipOperation, IsNotCapturedWhileALaunchInAnotherStreamMayBeUnderWay) {
  with_operation([this](Rank& rank) {
    rank.launch(rank.first);
    rank.context.device().begin_capture(rank.second);
    EXPECT_EQ(rank.launch_failure(rank.second),
              "known cannot be captured while a launch in another stream may be under way, which no graph waits for; "
              "synchronize that stream before the capture begins");
    rank.context.device().destroy_graph(rank.context.device().end_capture(rank.second));
    EXPECT_EQ(fake_->launches.size(), 1U);

    rank.context.synchronize(rank.first);
    rank.context.device().begin_capture(rank.second);
    EXPECT_EQ(rank.launch_failure(rank.second), "");
    EXPECT_EQ(rank.launch_failure(rank.first),
              "known cannot be launched while its launches in another stream are captured; end that capture first");
    rank.context.device().destroy_graph(rank.context.device().end_capture(rank.second));
    EXPECT_EQ(rank.launch_failure(rank.first), "");
    EXPECT_EQ(fake_->waits.size(), 1U);
  });
}

/// A kernel is loaded by the first fill that needs it.
TEST_F(HipOperation, CapturesFillsWhoseKernelIsLoaded) {
  IRISGEN_REQUIRE_COMPILER("clang", "gfx90a");
  with_operation([this](Rank& rank) {
    const TensorView tensor(rank.buffers[0], Dtype::f32, {64});
    Device& device = rank.context.device();
    device.begin_capture(rank.first);
    EXPECT_EQ(error_of([&] { fill(rank.context, tensor, 1, rank.first); }),
              "the first fill of a kind, here 'constant f32', loads its kernel, which cannot be done in a stream that "
              "is captured; fill a tensor of this kind before the capture begins");
    EXPECT_EQ(fake_->live_modules, 1) << "the operation's";
    device.destroy_graph(device.end_capture(rank.first));

    fill(rank.context, tensor, 1, rank.second);
    device.begin_capture(rank.first);
    EXPECT_EQ(error_of([&] { fill(rank.context, tensor, 1, rank.first); }), "");
    device.destroy_graph(device.end_capture(rank.first));

    fake_->synchronized.clear();
    {
      const Tensor ended = empty(rank.context, {16});
    }
    EXPECT_EQ(std::ranges::count(fake_->synchronized, rank.second), 1);
    EXPECT_EQ(std::ranges::count(fake_->synchronized, rank.first), 0) << "which only captured";
  });
}

/// One capture of several streams, whose order becomes the graph's.
TEST_F(HipOperation, OrdersLaunchesThatAreCapturedTogether) {
  with_operation([this](Rank& rank) {
    rank.context.device().begin_capture(rank.first);
    fake_->capturing.insert(rank.second);  // as when it has waited for an event of the first
    rank.launch(rank.first);
    rank.launch(rank.second);
    ASSERT_EQ(fake_->waits.size(), 1U);
    EXPECT_EQ(fake_->waits[0].first, rank.second);
    fake_->capturing.erase(rank.second);
    rank.context.device().destroy_graph(rank.context.device().end_capture(rank.first));
  });
}

TEST_F(HipOperation, CopiesNothingToItself) {
  const Step own_copy = {0, CopyStep{.from = "input", .to = "output", .shape = {{"n"}}}};
  with_operation(
      [this](Rank& rank) {
        const int before = fake_->copies;
        rank.launch(rank.first);
        EXPECT_EQ(fake_->copies, before + 1);
        rank.operation.launch({rank.buffers[0], rank.buffers[0]}, extents, rank.first);
        EXPECT_EQ(fake_->copies, before + 1);
      },
      {own_copy});
}

}  // namespace
}  // namespace iris::hip_operation_test
