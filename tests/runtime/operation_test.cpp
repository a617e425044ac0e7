// What an Operation checks before and after a launch.

#include "iris/operation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "runtime/system/fault.hpp"

namespace iris {
namespace {

using test::error_of;
using test::expect_part;
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
              "n is dynamic, and capacity does not say how much launches will give at most");
}

TEST(Operation, TellsEveryRankThatTheyLoadDifferentKernels) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  const std::array kernels{host_operation("add_index", 2), host_operation("note_order", 2)};
  expect_part(
      error_of([&] {
        world.run([&](Context& context) {
          const Operation operation(context, kernels.at(static_cast<std::size_t>(context.rank())), of_n(64));
        });
      }),
      "rank 0: Operation(add_index, capacity n = 64, 768 bytes); rank 1: Operation(note_order, capacity n = 64, "
      "768 bytes)");
}

/// Both take as much of the heap, and one would refuse launches that the other waits in.
TEST(Operation, TellsEveryRankThatCapacitiesDiffer) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 2);
  expect_part(error_of([&] {
                world.run([&](Context& context) {
                  const Operation operation(context, built, of_n(context.rank() == 0 ? 64 : 65));
                });
              }),
              "rank 0: Operation(add_index, capacity n = 64, 768 bytes); rank 1: Operation(add_index, capacity n = 65, "
              "768 bytes)");
}

/// Else the others would wait for it until their time is up.
TEST(Operation, TellsEveryRankOfOneThatGivesNoCapacity) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 2);
  for (const auto& [capacity, words] : {std::pair<Extents, std::string>{{}, ""}, {{{"k", 64}}, ", capacity k = 64"}}) {
    std::array<std::string, 2> errors;
    world.run([&](Context& context) {
      const auto rank = static_cast<std::size_t>(context.rank());
      errors.at(rank) = error_of([&] { const Operation operation(context, built, rank == 1 ? capacity : of_n(64)); });
    });
    for (const std::string& error : errors) {
      expect_part(
          error, "rank 0: Operation(add_index, capacity n = 64, 768 bytes); rank 1: Operation(add_index" + words + ")");
    }
  }
}

TEST(Operation, GivesItsMemoryBack) {
  World world({.size = 2, .heap_bytes = 8192, .heap_limit = 8192});
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
    const std::string remedy = launch_failure(operation, {input + 4, output}, of_n(8));
    EXPECT_EQ(remedy, "");
  });
  const auto of_vectors = [](BuiltOperation& built) { built.manifest.arguments[0].alignment = 16; };
  with_operation(
      [](Operation& operation, char* input, char* output) {
        expect_part(launch_failure(operation, {input + 8, output}, of_n(8)),
                    "add_index: 'input' is not aligned to 16 bytes, as this kernel's accesses are; align it, or "
                    "describe the kernel with config: {vector: 2}, which makes narrower ones");
        expect_part(launch_failure(operation, {input + 4, output}, of_n(8)), "{vector: 1}");
        const std::string of_half_elements = launch_failure(operation, {input + 2, output}, of_n(8));
        EXPECT_EQ(of_half_elements, "add_index: 'input' is not aligned to 16 bytes") << "no vector takes it";
      },
      of_vectors);
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
            "sum_of_three: launch 2 on rank 2 (m = 1, n = 4, input at 0 of the heap, output at 256 of the heap) is not "
            "that of "
            "another rank; all must launch with the same extents, on buffers at the same offsets of their heaps, or "
            "of what they adopted together");
}

TEST(Operation, RefusesBuffersAtOtherOffsetsThanAnotherRanks) {
  const std::string failure = failure_of_rank_2([](Context& context, Operation& operation, char* input, char* output) {
    operation.launch({input, output + (context.rank() == 2 ? 128 : 0)}, of_n(8));
  });
  expect_part(failure, "(m = 1, n = 8, input at 0 of the heap, output at 384 of the heap) is not that of another rank");
}

/// Each launch in another stream than the one before, whose output it takes; nobody waits in between.
void expect_launches_in_order(std::uint64_t seed) {
  constexpr std::size_t launches = 7;
  constexpr int n = 64;
  World world({.size = 3, .heap_bytes = 1 << 20, .seed = seed});
  const BuiltOperation built = host_operation("sum_of_three", 3);
  world.run([&](Context& context) {
    Device& device = context.device();
    const std::array<Stream, 3> streams = {nullptr, device.create_stream(), device.create_stream()};
    Operation operation(context, built, of_n(n));
    std::vector<void*> buffers;
    for (std::size_t i = 0; i <= launches; ++i) buffers.push_back(context.allocate(n * sizeof(int)));
    std::vector<int> values;
    for (int i = 0; i < n; ++i) values.push_back(100 * context.rank() + i);
    device.copy(buffers[0], values.data(), n * sizeof(int));
    context.barrier();
    for (std::size_t launch = 0; launch < launches; ++launch) {
      operation.launch({buffers[launch], buffers[launch + 1]}, of_n(n), streams.at(launch % streams.size()));
    }
    for (const Stream stream : streams) context.synchronize(stream);
    device.copy(values.data(), buffers[launches], n * sizeof(int));
    for (int i = 0; i < n; ++i) {
      // What the first launch sums, times the three ranks in each of the six others.
      ASSERT_EQ(values.at(static_cast<std::size_t>(i)), (300 + 3 * i) * 729) << "seed " << seed;
    }
    context.barrier();
    for (const Stream stream : std::span(streams).subspan(1)) device.destroy_stream(stream);
  });
}

TEST(Operation, KeepsLaunchesInSeveralStreamsInOrder) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    EXPECT_EQ(error_of([&] { expect_launches_in_order(seed); }), "") << "seed " << seed;
  }
}

TEST(Operation, LetsRanksThatDoNotWaitForOneAnotherLaunchAsTheyLike) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  BuiltOperation built = host_operation("add_index", 2);
  built.manifest.kernels[0].waits_for_ranks = false;
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

/// More sizes than an operation remembers, then all of them again.
TEST(Operation, LaunchesManySizesInTurn) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 1);
  world.run([&](Context& context) {
    void* input = context.allocate(256);
    void* output = context.allocate(256);
    Operation operation(context, built, of_n(64));
    context.device().fill(input, 0, 256);
    for (int launch = 0; launch < 60; ++launch) {
      const std::int64_t n = 1 + launch % 20;
      context.device().fill(output, 0xff, 256);
      operation.launch({input, output}, of_n(n));
      std::vector<int> values(64);
      context.device().copy(values.data(), output, 256);
      for (int i = 0; i < 64; ++i) ASSERT_EQ(values.at(static_cast<std::size_t>(i)), i < n ? i : -1) << "n = " << n;
    }
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
        expect_part(launch_failure(operation, {input, input}),
                    "overlap; variant by_hand of this kernel cannot work in place");
      },
      [](BuiltOperation& built) { built.manifest.in_place = InPlace::no; });
}

/// A rank of three launches an operation whose output is three times as long as its input, or the other way round.
class OperationInBlocks : public testing::Test {
 protected:
  static constexpr std::int64_t n = 7;
  static constexpr std::ptrdiff_t block_bytes = 28;

  /// The words in which rank 1 is refused, its smaller buffer `offset` bytes after its larger one.
  static std::string failure_at(std::ptrdiff_t offset, bool output_is_larger) {
    BuiltOperation built = host_operation("add_index", 3);
    Manifest& manifest = built.manifest;
    manifest.in_place = InPlace::own_block;
    manifest.kernels[0].waits = false;
    manifest.arguments[output_is_larger ? 1 : 0].shape[0].factor = 3;
    for (Argument& argument : manifest.arguments) argument.alignment = 16;
    std::string failure;
    World world({.size = 3, .heap_bytes = 1 << 20});
    world.run([&](Context& context) {
      auto* larger = static_cast<char*>(context.allocate(1024)) + 256;
      Operation operation(context, built, of_n(64));
      if (context.rank() != 1) return;
      void* smaller = larger + offset;
      const std::array<void*, 2> buffers = {output_is_larger ? smaller : larger, output_is_larger ? larger : smaller};
      failure = error_of([&] { operation.launch(buffers, of_n(n)); });
    });
    return failure;
  }
};

TEST_F(OperationInBlocks, TakesTheRanksOwnHoweverItIsAligned) {
  EXPECT_EQ(failure_at(block_bytes, true), "");
  EXPECT_EQ(failure_at(block_bytes, false), "");
}

TEST_F(OperationInBlocks, RefusesAnothersAndWhatIsNone) {
  for (const std::ptrdiff_t offset : {std::ptrdiff_t{0}, std::ptrdiff_t{16}, std::ptrdiff_t{80}, std::ptrdiff_t{-16}}) {
    EXPECT_EQ(failure_at(offset, true),
              "add_index: 'input' and 'output' overlap; 'input' must be block 1 of 'output', this rank's own, which "
              "begins 28 bytes after it, or they must have nothing in common")
        << offset;
    expect_part(failure_at(offset, false), "'input' and 'output' overlap; 'output' must be block 1 of 'input'");
  }
}

TEST_F(OperationInBlocks, ChecksTheAlignmentOfBuffersThatHaveNothingInCommon) {
  EXPECT_EQ(failure_at(3 * block_bytes + 12, true), "");
  expect_part(failure_at(3 * block_bytes, true), "'input' is not aligned to 16 bytes");
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

TEST(Operation, TellsAllRanksOfAFaultThatACollectiveCallFindsOnOne) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("raises_fault", 3);
  world.run([&](Context& context) {
    void* input = context.allocate(256);
    void* output = context.allocate(256);
    const auto pages = std::make_unique<std::byte[]>(4096);
    context.as_symmetric(pages.get(), 4096);
    const auto failure_of = [&](const std::function<void()>& call) {
      Operation operation(context, built, of_n(64));
      operation.launch(std::array{input, output}, of_n(64));
      return error_of(call);
    };
    const std::string fault = "raises_fault: rank 2, block ";
    const std::string of_barrier = failure_of([&] { context.barrier(); });
    const std::string of_trim = failure_of([&] { context.trim(); });
    const std::string of_release = failure_of([&] { context.release_symmetric(pages.get()); });
    expect_part(of_release, "release_symmetric(adopted memory 1, 4096 bytes) cannot be done on rank 2: " + fault);
    if (context.rank() == 2) {
      EXPECT_TRUE(of_barrier.starts_with(fault)) << of_barrier;
      EXPECT_TRUE(of_trim.starts_with(fault)) << of_trim;
    } else {
      expect_part(of_barrier, "barrier() cannot be done on rank 2: " + fault);
      expect_part(of_trim, "trim() cannot be done on rank 2: " + fault);
    }
    EXPECT_TRUE(context.is_symmetric(pages.get(), 4096));
    context.release_symmetric(pages.get());  // they are in step
    context.barrier();
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

TEST(Operation, SaysThatLaunchesOverlappedRatherThanWhomTheyWaitedFor) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("overlaps", 3);
  world.run([&](Context& context) {
    void* input = context.allocate(256);
    void* output = context.allocate(256);
    Operation operation(context, built, of_n(64));
    const auto launch = [&] { operation.launch(std::array{input, output}, of_n(64)); };
    launch();
    const std::string error = error_of([&] { context.synchronize(); });
    if (context.rank() == 1) {
      expect_part(error, "overlaps: two of its launches on rank 1 overlapped, though they share flags and workspace");
      expect_part(error_of(launch), "cannot be launched again, since its flags are in disorder");
    } else {
      EXPECT_EQ(error, "");
    }
  });
}

TEST(Fault, SaysDurationsAsPeopleDo) {
  EXPECT_EQ(describe_duration(10'000'000'000), "10 s");
  EXPECT_EQ(describe_duration(250'000'000), "250 ms");
  EXPECT_EQ(describe_duration(1'500), "1.5 us");
  EXPECT_EQ(describe_duration(0), "0 ns");
}

}  // namespace
}  // namespace iris
