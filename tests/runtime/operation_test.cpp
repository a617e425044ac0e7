// What an Operation checks when it is loaded, in what order its launches run, and how long it lives.

#include "iris/operation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "sanitizers.hpp"

namespace iris::operation_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;
using test::of_n;

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

TEST(Operation, NeedsTheCodeOfEveryKernel) {
  expect_part(load_failure([](BuiltOperation& built) { built.code.clear(); }), "has 1 kernels, but the code of 0");
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
  for (std::uint64_t seed = 0; seed < test::orders(40); ++seed) {
    EXPECT_EQ(error_of([&] { expect_launches_in_order(seed); }), "") << "seed " << seed;
  }
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

}  // namespace
}  // namespace iris::operation_test
