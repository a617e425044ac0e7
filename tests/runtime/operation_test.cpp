// What an Operation checks before and after a launch.

#include "iris/operation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/system/fault.hpp"

namespace iris {
namespace {

using test::error_of;
using test::host_operation;

Extents of_n(std::int64_t n) {
  return {{"n", n}};
}

/// Loads add_index, as changed by `change`, in a world of `ranks`; the words in which that fails.
std::string load_failure(const std::function<void(BuiltOperation&)>& change, int ranks = 1) {
  World world({.size = ranks, .heap_bytes = 1 << 20});
  BuiltOperation built = host_operation("add_index", ranks);
  change(built);
  return error_of([&] { world.run([&](Context& context) { const Operation operation(context, built, of_n(64)); }); });
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Operation, RefusesAManifestOfAnotherInterface) {
  expect_part(load_failure([](BuiltOperation& built) { built.manifest.abi = 99; }),
              "version 99 of the kernel interface");
}

TEST(Operation, RefusesAnotherWorldOrTarget) {
  expect_part(load_failure([](BuiltOperation& built) { built.manifest.problem.world = 8; }, 2),
              "add_index was made for a world of 8 ranks, this one has 2");
  expect_part(load_failure([](BuiltOperation& built) { built.manifest.target = "gfx942"; }),
              "add_index was made for gfx942, rank 0 is on host");
}

TEST(Operation, RefusesMoreBlocksThanCanRunTogether) {
  const auto many = [](BuiltOperation& built) {
    built.manifest.kernels[0].blocks = 1000;
    built.manifest.kernels[0].threads = 1024;
  };
  expect_part(load_failure(many, 4),
              "1000 blocks of 1024 threads must run together for each of the 4 ranks on this device, but CPU (fibers) "
              "holds 256; lower config.blocks to 64 or less");
  const auto enough_for_one_rank = [](BuiltOperation& built) {
    built.manifest.kernels[0].blocks = 65;
    built.manifest.kernels[0].threads = 1024;
  };
  expect_part(load_failure(enough_for_one_rank, 4), "65 blocks of 1024 threads must run together");
}

TEST(Operation, RefusesToLoadWithoutACapacityForDynamicExtents) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 1);
  expect_part(error_of([&] { world.run([&](Context& context) { const Operation operation(context, built); }); }),
              "n is dynamic, so every launch must give it");
}

TEST(Operation, TellsEveryRankThatTheyLoadDifferentKernels) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  const std::array kernels{host_operation("add_index", 2), host_operation("note_order", 2)};
  expect_part(error_of([&] {
                world.run([&](Context& context) {
                  const Operation operation(context, kernels.at(static_cast<std::size_t>(context.rank())), of_n(64));
                });
              }),
              "rank 0: Operation(add_index, 768 bytes); rank 1: Operation(note_order, 768 bytes)");
}

TEST(Operation, GivesItsMemoryBack) {
  World world({.size = 2, .heap_bytes = 8192});
  const BuiltOperation built = host_operation("add_index", 2);
  world.run([&](Context& context) {
    for (int i = 0; i < 100; ++i) const Operation operation(context, built, of_n(64));
    EXPECT_NE(context.allocate(8192), nullptr);
  });
}

/// One rank, one loaded kernel, and two buffers of 64 integers.
class OperationLaunch : public testing::Test {
 protected:
  using Body = std::function<void(Operation&, char* input, char* output)>;

  void with_operation(const Body& body, const std::function<void(BuiltOperation&)>& change = {}) {
    World world({.size = 1, .heap_bytes = 1 << 20});
    BuiltOperation built = host_operation("add_index", 1);
    if (change) change(built);
    world.run([&](Context& context) {
      auto* input = static_cast<char*>(context.allocate(256));
      auto* output = static_cast<char*>(context.allocate(256));
      Operation operation(context, built, of_n(64));
      body(operation, input, output);
    });
  }

  static std::string launch_failure(Operation& operation, std::vector<void*> buffers, Extents extents = of_n(64)) {
    return error_of([&] { operation.launch(buffers, extents); });
  }
};

TEST_F(OperationLaunch, CountsBuffers) {
  with_operation([](Operation& operation, char* input, char*) {
    expect_part(launch_failure(operation, {input}), "add_index: takes 2 buffers, not 1");
  });
}

TEST_F(OperationLaunch, RefusesNullUnlessThereIsNothingInIt) {
  with_operation([](Operation& operation, char* input, char*) {
    expect_part(launch_failure(operation, {input, nullptr}), "'output' is null but has 256 bytes");
    EXPECT_EQ(launch_failure(operation, {nullptr, nullptr}, of_n(0)), "");
  });
}

TEST_F(OperationLaunch, ChecksAlignment) {
  with_operation([](Operation& operation, char* input, char* output) {
    expect_part(launch_failure(operation, {input + 2, output}, of_n(8)), "'input' is not aligned to 4 bytes");
  });
}

TEST_F(OperationLaunch, ChecksSymmetry) {
  with_operation([](Operation& operation, char* input, char*) {
    std::vector<int> elsewhere(64);
    expect_part(launch_failure(operation, {input, elsewhere.data()}),
                "'output' (256 bytes) does not lie within an allocation on the symmetric heap");
  });
}

TEST_F(OperationLaunch, RefusesABufferShorterThanWhatIsLaunched) {
  with_operation([](Operation& operation, char* input, char* output) {
    EXPECT_EQ(launch_failure(operation, {input, output + 128}, of_n(32)), "");
    expect_part(launch_failure(operation, {input, output + 128}, of_n(33)),
                "'output' (132 bytes) does not lie within an allocation");
  });
}

TEST(Operation, RefusesABufferThatWasFreed) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 1);
  world.run([&](Context& context) {
    void* input = context.allocate(256);
    void* output = context.allocate(256);
    Operation operation(context, built, of_n(64));
    context.free(input);
    expect_part(error_of([&] { operation.launch({input, output}, of_n(64)); }),
                "'input' (256 bytes) does not lie within an allocation");
  });
}

TEST(Operation, KeepsItsOwnMemoryFromTheUser) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 1);
  world.run([&](Context& context) {
    Operation operation(context, built, of_n(64));  // the first on the heap
    void* flags = context.heap_bases()[0];
    void* output = context.allocate(256);
    expect_part(error_of([&] { operation.launch({output, flags}, of_n(64)); }),
                "'output' (256 bytes) does not lie within an allocation");
    expect_part(error_of([&] { context.free(flags); }), "frees memory that allocate() did not return");
  });
}

/// Three ranks launch sum_of_three as `launch` says; what the last of them, rank 2, is told.
std::string failure_of_rank_2(const std::function<void(Context&, Operation&, char* input, char* output)>& launch) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("sum_of_three", 3);
  std::string failure;
  std::latch others_have_launched(2);
  error_of([&] {
    world.run([&](Context& context) {
      auto* input = static_cast<char*>(context.allocate(256));
      auto* output = static_cast<char*>(context.allocate(256));
      Operation operation(context, built, of_n(64));
      if (context.rank() != 2) {
        launch(context, operation, input, output);
        others_have_launched.count_down();
      } else {
        others_have_launched.wait();
        failure = error_of([&] { launch(context, operation, input, output); });
      }
    });
  });
  return failure;
}

TEST(Operation, RefusesOtherExtentsThanAnotherRanks) {
  EXPECT_EQ(failure_of_rank_2([](Context&, Operation& operation, char* input, char* output) {
              operation.launch({input, output}, of_n(8));
            }),
            "");
  EXPECT_EQ(failure_of_rank_2([](Context& context, Operation& operation, char* input, char* output) {
              operation.launch({input, output}, of_n(8));
              operation.launch({input, output}, of_n(context.rank() == 2 ? 4 : 64));
            }),
            "sum_of_three: launch 2 on rank 2 (m = 1, n = 4, input at 0, output at 256 of the heap) is not that of "
            "another rank; all must launch with the same extents, on buffers at the same offsets of their heaps");
}

TEST(Operation, RefusesBuffersAtOtherOffsetsThanAnotherRanks) {
  const std::string failure = failure_of_rank_2([](Context& context, Operation& operation, char* input, char* output) {
    operation.launch({input, output + (context.rank() == 2 ? 128 : 0)}, of_n(8));
  });
  expect_part(failure, "(m = 1, n = 8, input at 0, output at 384 of the heap) is not that of another rank");
}

TEST(Operation, LetsRanksThatDoNotWaitForOneAnotherLaunchAsTheyLike) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  BuiltOperation built = host_operation("add_index", 2);
  built.manifest.kernels[0].waits = false;
  world.run([&](Context& context) {
    void* buffer = context.allocate(256);
    Operation operation(context, built, of_n(64));
    operation.launch({buffer, buffer}, of_n(8 + context.rank()));
    context.barrier();
  });
}

TEST(Operation, MayEndAfterItsWorld) {
  std::vector<Operation> operations;
  {
    World world({.size = 2, .heap_bytes = 1 << 20});
    const BuiltOperation built = host_operation("add_index", 2);
    std::mutex mutex;
    world.run([&](Context& context) {
      void* buffer = context.allocate(256);
      Operation operation(context, built, of_n(64));
      operation.launch({buffer, buffer}, of_n(64));
      const std::lock_guard lock(mutex);
      operations.push_back(std::move(operation));
    });
  }
  EXPECT_EQ(operations.at(1).manifest().name, "add_index");
}

TEST_F(OperationLaunch, SaysThatItWasMovedFrom) {
  with_operation([](Operation& operation, char* input, char* output) {
    const Operation taken = std::move(operation);
    expect_part(launch_failure(operation, {input, output}),
                "this Operation was moved from");  // NOLINT(bugprone-use-after-move)
  });
}

TEST_F(OperationLaunch, ChecksExtents) {
  with_operation([](Operation& operation, char* input, char* output) {
    expect_part(launch_failure(operation, {input, output}, of_n(65)), "n = 65 is over the capacity of 64");
    expect_part(launch_failure(operation, {input, output}, of_n(-1)), "n is -1; it must be >= 0");
    expect_part(launch_failure(operation, {input, output}, {}), "n is dynamic, so every launch must give it");
    expect_part(launch_failure(operation, {input, output}, {{"m", 2}, {"n", 64}}), "m is 1 in this kernel, not 2");
  });
}

TEST_F(OperationLaunch, ChecksAliasing) {
  with_operation([](Operation& operation, char* input, char*) {
    EXPECT_EQ(launch_failure(operation, {input, input}), "");
    expect_part(launch_failure(operation, {input, input + 16}, of_n(32)), "'input' and 'output' overlap in part");
    EXPECT_EQ(launch_failure(operation, {input, input + 128}, of_n(32)), "");
  });
  with_operation(
      [](Operation& operation, char* input, char*) {
        expect_part(launch_failure(operation, {input, input}), "overlap; this kernel cannot work in place");
      },
      [](BuiltOperation& built) { built.manifest.in_place = false; });
}

Manifest with_dynamic_rows() {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.problem.extents[0].extent = {.dynamic = true};
  return manifest;
}

TEST(LaunchCheck, DemandsThatShapesDivide) {
  Manifest manifest = with_dynamic_rows();
  manifest.arguments[0].shape[0].divisor = 4;
  expect_part(error_of([&] { resolve_extents(manifest, {{"m", 10}, {"n", 5}}); }),
              "m = 10 must be a multiple of 4, since 'input'");
}

TEST(LaunchCheck, NamesAnExtentThatTheKernelDoesNotHave) {
  const Manifest manifest = with_dynamic_rows();
  expect_part(error_of([&] { resolve_extents(manifest, {{"m", 10}, {"n", 5}, {"q", 5}}); }), "there is no extent 'q'");
}

TEST(LaunchCheck, RefusesAnExtentThatIsGivenTwice) {
  const Manifest manifest = with_dynamic_rows();
  expect_part(error_of([&] { resolve_extents(manifest, {{"m", 10}, {"n", 5}, {"m", 11}}); }), "m is given twice");
}

TEST(LaunchCheck, NoticesThatSizesOverflow) {
  Manifest manifest = with_dynamic_rows();
  expect_part(
      error_of([&] { resolve_extents(manifest, {{"m", std::int64_t{1} << 40}, {"n", std::int64_t{1} << 40}}); }),
      "'input' has more than 2^62 bytes");
  manifest.kernels[0].workspace = {{{1 << 20, {"m", "n"}}}};
  expect_part(error_of([&] { layout_of(manifest, {{"m", 1 << 30}, {"n", 1 << 30}}); }), "the workspace");
}

TEST(LaunchCheck, NoticesThatPartsOverflowTogether) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  const auto layout = [&] { layout_of(manifest, {{"m", 1}, {"n", std::int64_t{1} << 59}}); };
  manifest.intermediates = {{.name = "between", .dtype = Dtype::i32, .shape = {{"n"}}}};
  EXPECT_EQ(error_of(layout), "");
  manifest.intermediates.push_back({.name = "beside", .dtype = Dtype::i32, .shape = {{"n"}}});
  expect_part(error_of(layout),
              "flags, workspace and intermediate buffers for this capacity have more than 2^62 bytes");

  manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].flags = std::int64_t{1} << 61;  // 2^64 bytes
  expect_part(error_of(layout), "more than 2^62 bytes");
}

TEST(LaunchCheck, MakesTwoAlignedBuffersOfWorkspace) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  const auto workspace = [&](std::int64_t n) {
    return layout_of(manifest, {{"m", 1}, {"n", n}}).kernels[0].workspace_bytes;
  };
  EXPECT_EQ(workspace(100), 0);
  manifest.kernels[0].workspace = {{{1, {}}}};
  EXPECT_EQ(workspace(100), 512);
  manifest.kernels[0].workspace = {{{12, {"n"}}}};
  EXPECT_EQ(workspace(100), 1536);
}

/// Memory for what a schedule never launches would be lost: a large operation takes its small one's workspace only.
TEST(LaunchCheck, TakesNoMoreWorkspaceThanItsSchedulesNeed) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].workspace = {{{16, {"n"}}}};
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[1].workspace = {};
  manifest.schedules = {{.up_to = 64, .steps = {{0, LaunchStep{0, {"input", "output"}, {{"n"}}}}}},
                        {.up_to = every_size, .steps = {{0, LaunchStep{1, {"input", "output"}, {{"n"}}}}}}};
  const auto layout = layout_of(manifest, {{"m", 1}, {"n", 1 << 20}});
  EXPECT_EQ(layout.kernels[0].workspace_bytes, 16 * 64);
  EXPECT_EQ(layout.kernels[1].workspace_bytes, 0);
}

TEST(LaunchCheck, LaysNothingOverAnythingElse) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.kernels[0].workspace = {{{12, {"n"}}}};
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.intermediates = {{.name = "between", .dtype = Dtype::f64, .shape = {{"n", 3}}}};
  const OperationLayout layout = layout_of(manifest, {{"m", 1}, {"n", 100}});
  std::vector<std::pair<std::int64_t, std::int64_t>> used;  // where it begins, how long it is
  for (std::size_t i = 0; i < 2; ++i) {
    used.emplace_back(layout.kernels[i].flags, manifest.kernels[i].flags * 8);
    used.emplace_back(layout.kernels[i].launches, manifest.kernels[i].blocks * 8);
    EXPECT_LE(layout.kernels[i].launches + 16, layout.counted_bytes) << "counts must be cleared";
    used.emplace_back(layout.kernels[i].workspace, layout.kernels[i].workspace_bytes);
  }
  used.emplace_back(layout.intermediates.at(0), 3 * 100 * 8);
  std::ranges::sort(used);
  std::int64_t end = 0;
  for (const auto& [begin, bytes] : used) {
    EXPECT_GE(begin, end);
    EXPECT_EQ(begin % 256, 0);
    end = begin + bytes;
  }
  EXPECT_LE(end, layout.total_bytes);
}

TEST(LaunchCheck, TakesTheFirstScheduleThatReaches) {
  Manifest manifest = host_operation("add_index", 1).manifest;
  manifest.schedules = {{.up_to = 10, .steps = {}}, {.up_to = 100, .steps = {}}, {.up_to = every_size, .steps = {}}};
  const auto up_to = [&](std::int64_t n) { return schedule_for(manifest, {{"m", 1}, {"n", n}}).up_to; };
  EXPECT_EQ(up_to(0), 10);
  EXPECT_EQ(up_to(10), 10);
  EXPECT_EQ(up_to(11), 100);
  EXPECT_EQ(up_to(101), every_size);
}

// --- operations of several steps

/// Runs an operation of three ranks on n elements; each rank's output, for input[i] = 1000 · rank + i · i.
std::vector<std::vector<int>> outputs_of(const BuiltOperation& built, std::int64_t n, std::uint64_t seed,
                                         int launches = 1) {
  World world({.size = 3, .heap_bytes = 1 << 20, .seed = seed});
  std::vector<std::vector<int>> outputs(3);
  world.run([&](Context& context) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(int);
    void* input = context.allocate(bytes);
    void* output = context.allocate(3 * bytes);
    std::vector<int> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 * context.rank() + static_cast<int>(i * i);
    context.device().copy(input, values.data(), bytes);
    context.device().fill(output, 0xa5, 3 * bytes);
    Operation operation(context, built, of_n(n));
    context.barrier();
    for (int launch = 0; launch < launches; ++launch) operation.launch(std::array{input, output}, of_n(n));
    context.barrier();
    auto& mine = outputs[static_cast<std::size_t>(context.rank())];
    mine.resize(3 * values.size());
    context.device().copy(mine.data(), output, 3 * bytes);
  });
  return outputs;
}

/// add_index twice: from the input to a buffer between, and from there to the output.
BuiltOperation add_index_twice() {
  BuiltOperation built = host_operation("add_index", 3);
  Manifest& manifest = built.manifest;
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[1].part = "again";
  built.code.push_back(built.code[0]);
  manifest.intermediates = {{.name = "between", .dtype = Dtype::i32, .shape = {{"n"}}}};
  manifest.schedules[0].steps = {{0, LaunchStep{0, {"input", "between"}, {{"n"}}}},
                                 {0, LaunchStep{1, {"between", "output"}, {{"n"}}}}};
  return built;
}

TEST(Steps, PassABufferFromKernelToKernel) {
  for (const auto& output : outputs_of(add_index_twice(), 100, 0)) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(output[static_cast<std::size_t>(i)] % 1000, (i * i + 2 * i) % 1000);
  }
}

TEST(Steps, OfADivisibleExtentLaunchPartOfIt) {
  BuiltOperation built = host_operation("add_index", 3);
  std::get<LaunchStep>(built.manifest.schedules[0].steps[0].action).extents = {{"n", 1, 4}};
  const auto outputs = outputs_of(built, 100, 0);
  EXPECT_EQ(outputs[1][24], 1000 + 24 * 24 + 24);
  EXPECT_EQ(outputs[1][25], static_cast<int>(0xa5a5a5a5));
}

/// An all-gather of copies: between two barriers of all ranks each copies to its block on the others, its own copy on
/// another stream.
BuiltOperation gather_by_copies() {
  BuiltOperation built = host_operation("sum_of_three", 3);  // barriers, as it were
  Manifest& manifest = built.manifest;
  manifest.in_place = false;
  manifest.arguments[1].shape = {{"n", 3}};
  manifest.intermediates = {{.name = "sums", .dtype = Dtype::i32, .shape = {{"n"}}}};
  const Step meet = {0, LaunchStep{0, {"input", "sums"}, {{"n"}}}};
  const auto copy_to = [](int peer_offset) {
    return CopyStep{
        .from = "input", .to = "output", .to_block = BlockIndex::rank, .peer_offset = peer_offset, .shape = {{"n"}}};
  };
  manifest.schedules[0].steps = {
      meet, {1, WaitStep{0}}, {1, copy_to(0)}, {0, copy_to(1)}, {0, copy_to(2)}, {0, WaitStep{1}}, meet};
  return built;
}

TEST(Steps, CopyBlocksToPeersOnStreamsOfTheirOwn) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const auto& output : outputs_of(gather_by_copies(), 50, seed, 2)) {
      for (int rank = 0; rank < 3; ++rank) {
        for (int i = 0; i < 50; ++i) ASSERT_EQ(output[static_cast<std::size_t>(50 * rank + i)], 1000 * rank + i * i);
      }
    }
  }
}

TEST(Steps, CopyFromTheBlockOfThePeer) {
  BuiltOperation built = gather_by_copies();
  // Rank r sends block p of its input to rank p: of 60 elements, 20 each.
  built.manifest.arguments[1].shape = {{"n"}};
  for (Step& step : built.manifest.schedules[0].steps) {
    if (auto* copy = std::get_if<CopyStep>(&step.action)) {
      copy->from_block = BlockIndex::peer;
      copy->shape = {{"n", 1, 3}};
    }
  }
  const auto outputs = outputs_of(built, 60, 3);
  for (int peer = 0; peer < 3; ++peer) {
    for (int rank = 0; rank < 3; ++rank) {
      for (int i = 0; i < 20; ++i) {
        const int element = 20 * peer + i;
        EXPECT_EQ(outputs[static_cast<std::size_t>(peer)][static_cast<std::size_t>(20 * rank + i)],
                  1000 * rank + element * element);
      }
    }
  }
}

TEST(Schedules, AreChosenByTheSizeOfTheLaunch) {
  BuiltOperation built = add_index_twice();
  built.manifest.schedules = {{.up_to = 10, .steps = {{0, LaunchStep{0, {"input", "output"}, {{"n"}}}}}},
                              {.up_to = every_size, .steps = built.manifest.schedules[0].steps}};
  EXPECT_EQ(outputs_of(built, 10, 0)[0][5], 25 + 5);
  EXPECT_EQ(outputs_of(built, 11, 0)[0][5], 25 + 2 * 5);
}

TEST(Operation, NeedsTheCodeOfEveryKernel) {
  expect_part(load_failure([](BuiltOperation& built) { built.code.clear(); }), "has 1 kernels, but the code of 0");
}

TEST(Operation, TurnsAFaultIntoASentenceAndIsNotLaunchedAgain) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("raises_fault", 3);
  const std::string sentence = "raises_fault: rank 2, block ";
  world.run([&](Context& context) {
    void* input = context.allocate(256);
    void* output = context.allocate(256);
    Operation operation(context, built, of_n(64));
    const std::array<void*, 2> buffers{input, output};
    operation.launch(buffers, of_n(64));
    const std::string failure = error_of([&] { context.synchronize(); });
    const std::string again = error_of([&] { operation.launch(buffers, of_n(64)); });
    if (context.rank() != 2) {
      EXPECT_EQ(failure + again, "");
      return;
    }
    EXPECT_TRUE(failure.starts_with(sentence)) << failure;
    expect_part(failure,
                " waited 10 s for rank 0 to deliver its contribution; expected step 7 of launch 3, saw step 6 of "
                "launch 3");
    expect_part(again, "cannot be launched again");
    expect_part(again, failure);
  });
}

TEST(Operation, ReportsTheFaultOfALaunchThatNobodyWaitedFor) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("raises_fault", 3);
  expect_part(error_of([&] {
                world.run([&](Context& context) {
                  void* input = context.allocate(256);
                  void* output = context.allocate(256);
                  Operation operation(context, built, of_n(64));
                  operation.launch(std::array{input, output}, of_n(64));
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
