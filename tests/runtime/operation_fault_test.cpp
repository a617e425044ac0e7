// What becomes of faults that kernels raise: who is told, when, and in which words.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "runtime/system/fault.hpp"

namespace iris::operation_fault_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;
using test::of_n;

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
}  // namespace iris::operation_fault_test
