// What a Kernel checks before and after a launch.

#include "iris/kernel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/system/fault.hpp"

namespace iris {
namespace {

using test::error_of;
using test::host_kernel;

constexpr LaunchExtents of_n(std::int64_t n) {
  return {.m = {}, .n = n, .k = {}};
}

/// Loads add_index, as changed by `change`, in a world of `ranks`; the words in which that fails.
std::string load_failure(const std::function<void(BuiltKernel&)>& change, int ranks = 1) {
  World world({.size = ranks, .heap_bytes = 1 << 20});
  BuiltKernel built = host_kernel("add_index", ranks);
  change(built);
  return error_of([&] { world.run([&](Context& context) { const Kernel kernel(context, built, of_n(64)); }); });
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Kernel, RefusesAManifestOfAnotherInterface) {
  expect_part(load_failure([](BuiltKernel& built) { built.manifest.abi = 99; }), "version 99 of the kernel interface");
}

TEST(Kernel, RefusesAnotherWorldOrTarget) {
  expect_part(load_failure([](BuiltKernel& built) { built.manifest.world = 8; }, 2),
              "add_index was made for a world of 8 ranks, this one has 2");
  expect_part(load_failure([](BuiltKernel& built) { built.manifest.target = "gfx942"; }),
              "add_index was made for gfx942, rank 0 is on host");
}

TEST(Kernel, RefusesMoreBlocksThanCanRunTogether) {
  const auto many = [](BuiltKernel& built) {
    built.manifest.blocks = 1000;
    built.manifest.threads = 1024;
  };
  expect_part(load_failure(many, 4),
              "1000 blocks of 1024 threads must run together for each of the 4 ranks on this device, but CPU (fibers) "
              "holds 256; lower config.blocks to 64 or less");
  const auto enough_for_one_rank = [](BuiltKernel& built) {
    built.manifest.blocks = 65;
    built.manifest.threads = 1024;
  };
  expect_part(load_failure(enough_for_one_rank, 4), "65 blocks of 1024 threads must run together");
}

TEST(Kernel, RefusesToLoadWithoutACapacityForDynamicExtents) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltKernel built = host_kernel("add_index", 1);
  expect_part(error_of([&] { world.run([&](Context& context) { const Kernel kernel(context, built); }); }),
              "n is dynamic, so every launch must give it");
}

TEST(Kernel, TellsEveryRankThatTheyLoadDifferentKernels) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  const std::array kernels{host_kernel("add_index", 2), host_kernel("note_order", 2)};
  expect_part(error_of([&] {
                world.run([&](Context& context) {
                  const Kernel kernel(context, kernels.at(static_cast<std::size_t>(context.rank())), of_n(64));
                });
              }),
              "rank 0: Kernel(add_index, 512 bytes); rank 1: Kernel(note_order, 512 bytes)");
}

TEST(Kernel, GivesItsMemoryBack) {
  World world({.size = 2, .heap_bytes = 8192});
  const BuiltKernel built = host_kernel("add_index", 2);
  world.run([&](Context& context) {
    for (int i = 0; i < 100; ++i) const Kernel kernel(context, built, of_n(64));
    EXPECT_NE(context.allocate(8192), nullptr);
  });
}

/// One rank, one loaded kernel, and two buffers of 64 integers.
class KernelLaunch : public testing::Test {
 protected:
  using Body = std::function<void(Kernel&, char* input, char* output)>;

  void with_kernel(const Body& body, const std::function<void(BuiltKernel&)>& change = {}) {
    World world({.size = 1, .heap_bytes = 1 << 20});
    BuiltKernel built = host_kernel("add_index", 1);
    if (change) change(built);
    world.run([&](Context& context) {
      auto* input = static_cast<char*>(context.allocate(256));
      auto* output = static_cast<char*>(context.allocate(256));
      Kernel kernel(context, built, built.manifest.n.dynamic ? of_n(64) : LaunchExtents{});
      body(kernel, input, output);
    });
  }

  static std::string launch_failure(Kernel& kernel, std::vector<void*> buffers, LaunchExtents extents = of_n(64)) {
    return error_of([&] { kernel.launch(buffers, extents); });
  }
};

TEST_F(KernelLaunch, CountsBuffers) {
  with_kernel([](Kernel& kernel, char* input, char*) {
    expect_part(launch_failure(kernel, {input}), "add_index: takes 2 buffers, not 1");
  });
}

TEST_F(KernelLaunch, RefusesNullUnlessThereIsNothingInIt) {
  with_kernel([](Kernel& kernel, char* input, char*) {
    expect_part(launch_failure(kernel, {input, nullptr}), "'output' is null but has 256 bytes");
    EXPECT_EQ(launch_failure(kernel, {nullptr, nullptr}, of_n(0)), "");
  });
}

TEST_F(KernelLaunch, ChecksAlignment) {
  with_kernel([](Kernel& kernel, char* input, char* output) {
    expect_part(launch_failure(kernel, {input + 2, output}, of_n(8)), "'input' is not aligned to 4 bytes");
  });
}

TEST_F(KernelLaunch, ChecksSymmetry) {
  with_kernel([](Kernel& kernel, char* input, char*) {
    std::vector<int> elsewhere(64);
    expect_part(launch_failure(kernel, {input, elsewhere.data()}),
                "'output' (256 bytes) does not lie on the symmetric heap");
  });
}

TEST_F(KernelLaunch, ChecksExtents) {
  with_kernel([](Kernel& kernel, char* input, char* output) {
    expect_part(launch_failure(kernel, {input, output}, of_n(65)), "n = 65 is over the capacity of 64");
    expect_part(launch_failure(kernel, {input, output}, of_n(-1)), "n is -1; it must be >= 0");
    expect_part(launch_failure(kernel, {input, output}, {}), "n is dynamic, so every launch must give it");
    expect_part(launch_failure(kernel, {input, output}, {.m = 2, .n = 64, .k = {}}), "m is 1 in this kernel, not 2");
  });
}

TEST_F(KernelLaunch, ChecksAliasing) {
  with_kernel([](Kernel& kernel, char* input, char*) {
    EXPECT_EQ(launch_failure(kernel, {input, input}), "");
    expect_part(launch_failure(kernel, {input, input + 16}, of_n(32)), "'input' and 'output' overlap in part");
    EXPECT_EQ(launch_failure(kernel, {input, input + 128}, of_n(32)), "");
  });
  with_kernel(
      [](Kernel& kernel, char* input, char*) {
        expect_part(launch_failure(kernel, {input, input}), "overlap; this kernel cannot work in place");
      },
      [](BuiltKernel& built) { built.manifest.in_place = false; });
}

TEST(LaunchCheck, DemandsThatShapesDivide) {
  irisgen::Manifest manifest = host_kernel("add_index", 1).manifest;
  manifest.m.dynamic = true;
  manifest.arguments[0].shape[0].divisor = 4;
  const LaunchExtents extents{.m = 10, .n = 5, .k = {}};
  expect_part(error_of([&] { resolve_extents(manifest, extents); }), "m = 10 must be a multiple of 4, since 'input'");
}

TEST(LaunchCheck, NoticesThatSizesOverflow) {
  irisgen::Manifest manifest = host_kernel("add_index", 1).manifest;
  manifest.m.dynamic = true;
  const LaunchExtents extents{.m = std::int64_t{1} << 40, .n = std::int64_t{1} << 40, .k = {}};
  expect_part(error_of([&] { resolve_extents(manifest, extents); }), "'input' has more than 2^62 bytes");
  manifest.workspace = {.fixed = 0, .scale = 1 << 20, .extents = "mn"};
  expect_part(error_of([&] { workspace_bytes(manifest, {.m = 1 << 30, .n = 1 << 30, .k = 1}); }), "the workspace");
}

TEST(LaunchCheck, MakesTwoAlignedHalvesOfWorkspace) {
  irisgen::Manifest manifest = host_kernel("add_index", 1).manifest;
  EXPECT_EQ(workspace_bytes(manifest, {}), 0);
  manifest.workspace = {.fixed = 1, .scale = 0, .extents = ""};
  EXPECT_EQ(workspace_bytes(manifest, {}), 512);
  manifest.workspace = {.fixed = 0, .scale = 12, .extents = "n"};
  EXPECT_EQ(workspace_bytes(manifest, {.m = 1, .n = 100, .k = 1}), 1536);
}

TEST(Kernel, TurnsAFaultIntoASentenceAndIsNotLaunchedAgain) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltKernel built = host_kernel("raises_fault", 3);
  const std::string sentence = "raises_fault: rank 2, block ";
  world.run([&](Context& context) {
    void* input = context.allocate(256);
    void* output = context.allocate(256);
    Kernel kernel(context, built, of_n(64));
    const std::array<void*, 2> buffers{input, output};
    kernel.launch(buffers, of_n(64));
    const std::string failure = error_of([&] { context.synchronize(); });
    const std::string again = error_of([&] { kernel.launch(buffers, of_n(64)); });
    if (context.rank() != 2) {
      EXPECT_EQ(failure + again, "");
      return;
    }
    EXPECT_TRUE(failure.starts_with(sentence)) << failure;
    expect_part(failure, " waited 10 s for rank 0 to deliver its contribution; expected step 7, saw 6");
    expect_part(again, "cannot be launched again");
    expect_part(again, failure);
  });
}

TEST(Kernel, ReportsTheFaultOfALaunchThatNobodyWaitedFor) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltKernel built = host_kernel("raises_fault", 3);
  expect_part(error_of([&] {
                world.run([&](Context& context) {
                  void* input = context.allocate(256);
                  void* output = context.allocate(256);
                  Kernel kernel(context, built, of_n(64));
                  kernel.launch(std::array{input, output}, of_n(64));
                });
              }),
              "rank 2: raises_fault: rank 2, block");
}

TEST(Fault, SaysDurationsAsPeopleDo) {
  EXPECT_EQ(describe_duration(10'000'000'000), "10 s");
  EXPECT_EQ(describe_duration(250'000'000), "250 ms");
  EXPECT_EQ(describe_duration(1'500), "1.5 us");
  EXPECT_EQ(describe_duration(0), "0 ns");
}

}  // namespace
}  // namespace iris
