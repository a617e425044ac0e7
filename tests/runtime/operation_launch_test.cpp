// What an Operation checks before a launch: buffers, extents, and that all ranks launch alike.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"

namespace iris::operation_launch_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;
using test::of_n;

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

}  // namespace
}  // namespace iris::operation_launch_test
