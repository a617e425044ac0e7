// What the CPU engine reports of kernels that can never go on, and of those that crash.

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "host_engine_samples.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "runtime/host/address_sanitizer.hpp"

namespace iris::host_failures_test {
namespace {

using test::error_of;
using test::host_operation;
using test::outputs_of;

/// The words in which a run of this kernel fails, long before a wait of it would run out of time.
std::string failure_of(const std::string& symbol) {
  return error_of([&] { outputs_of(symbol, 3, 128); });
}

TEST(HostEngine, NamesWhoWaitsForWhomInADeadlock) {
  const std::string failure = failure_of("missing_signal");
  EXPECT_NE(failure.find("deadlock: no thread of any kernel can go on"), std::string::npos) << failure;
  EXPECT_NE(failure.find("missing_signal, rank 0, blocks 0-1: waits for rank 1 to deliver its contribution; expected "
                         "step 0 of launch 1, saw no launch"),
            std::string::npos)
      << failure;
  EXPECT_NE(failure.find("missing_signal, rank 2, blocks 0-1: waits for rank 1"), std::string::npos) << failure;
  EXPECT_NE(failure.find("rank 1 runs no kernel; it has ended"), std::string::npos) << failure;
}

#ifndef IRIS_ADDRESS_SANITIZER  // which ends the process, and says more
TEST(HostEngine, SaysOfWhatAKernelHasCrashed) {
  const auto crashes = [](const std::string& symbol, const std::string& where, const std::string& why) {
    const std::string failure = failure_of(symbol);
    EXPECT_NE(failure.find(symbol + ", " + where + ": " + why), std::string::npos) << failure;
  };
  for (int time = 0; time < 3; ++time) {
    crashes("follows_null", "rank 1, block 1, thread 5", "accesses address 0x0, by a pointer that is null");
    crashes("needs_stack", "rank 2, block 1, thread 9",
            "needs more than the 60 KiB of stack that a thread has on the CPU");
    EXPECT_NE(failure_of("strays_far").find(" where there is no memory; does an index leave its buffer?"),
              std::string::npos);
    EXPECT_NE(failure_of("leaves_the_addresses").find(", thread 7: accesses an address where there is no memory"),
              std::string::npos);
  }
  EXPECT_NE(failure_of("loads_between_packs").find(", thread 7: is stopped: by an access that is not aligned"),
            std::string::npos);
  EXPECT_NE(failure_of("divides_by_zero").find("block 0, thread 31: divides a whole number by zero"),
            std::string::npos);
}

/// As programs do that wait for signals in a thread of their own.
TEST(HostEngine, SaysOfACrashWhereTheProgramBlocksAllSignals) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const std::string failure = failure_of("follows_null");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(failure.find("accesses address 0x0, by a pointer that is null"), std::string::npos) << failure;
}

TEST(HostEngine, GoesOnAfterACrash) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    auto* const memory = static_cast<int*>(context.allocate(256 * sizeof(int)));
    Operation bad(context, host_operation("follows_null", 2), {{"n", 64}});
    Operation good(context, host_operation("add_index", 2), {{"n", 64}});
    bad.launch({memory, memory + 64}, {{"n", 64}});
    EXPECT_NE(error_of([&] { context.synchronize(); }), "");
    context.device().fill(memory, 0, 256 * sizeof(int));
    good.launch({memory, memory + 64}, {{"n", 64}});
    context.synchronize();
    EXPECT_EQ(memory[64 + 5], 5);
  });
}

/// A fault of the program's own is none of the engine's, and no more is one that somebody sends.
TEST(HostEngineDeathTest, LeavesTheProgramsOwnCrashesAlone) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  EXPECT_EXIT(*static_cast<volatile int*>(nullptr) = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
}
#endif

TEST(HostEngine, SaysWhichStepWasSeenAndWhichAwaited) {
  const std::string failure = failure_of("wrong_step");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string line = "wrong_step, rank " + std::to_string(rank) + ", blocks 0-1: waits for rank " +
                             std::to_string((rank + 2) % 3) +
                             " to send the next step; expected step 2 of launch 1, saw step 1 of launch 1";
    EXPECT_NE(failure.find(line), std::string::npos) << failure;
  }
}

TEST(HostEngine, NamesTheRankWhoseLockIsKept) {
  const std::string failure = failure_of("kept_lock");
  EXPECT_NE(failure.find("kept_lock, rank 0, blocks 0-1: waits for rank 1 to be unlocked; expected step 1 of launch 1, "
                         "saw step 0 of launch 1"),
            std::string::npos)
      << failure;
}

TEST(HostEngine, ReportsABlockSyncThatNotAllThreadsReach) {
  const std::string failure = failure_of("divergent_sync");
  EXPECT_NE(failure.find("divergent_sync, rank 0, blocks 0-1: stands at a block sync with 31 threads, which 1 ended "
                         "thread will never reach"),
            std::string::npos)
      << failure;
}

TEST(HostEngine, ReportsPollingThatNobodyCanSatisfy) {
  const std::string failure = failure_of("poll_in_vain");
  EXPECT_NE(failure.find("poll_in_vain, rank 0, blocks 0-1: polls memory that nobody changes (32 threads)"),
            std::string::npos)
      << failure;
}

TEST(HostEngine, SaysWhatTheMissingRankDoesInstead) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("sum_of_three", 3);
  const std::string failure = error_of([&] {
    world.run([&](Context& context) {
      void* input = context.allocate(256);
      void* output = context.allocate(256);
      Operation operation(context, built, {{"n", 64}});
      if (context.rank() == 2) return;
      const std::array<void*, 2> buffers{input, output};
      operation.launch(buffers, {{"n", 64}});
      context.synchronize();
    });
  });
  EXPECT_NE(failure.find("rank 0: deadlock"), std::string::npos) << failure;
  EXPECT_NE(failure.find("waits for rank 2 to enter the collective"), std::string::npos) << failure;
  EXPECT_NE(failure.find("rank 2 runs no kernel; it has ended"), std::string::npos) << failure;
}

TEST(HostEngine, WorksAgainAfterADeadlock) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  for (int round = 0; round < 3; ++round) {
    const BuiltOperation broken = host_operation("missing_signal", 3);
    const BuiltOperation sound = host_operation("sum_of_three", 3);
    std::vector<std::string> failures(3);
    std::vector<int> sums(3);
    world.run([&](Context& context) {
      const auto rank = static_cast<std::size_t>(context.rank());
      void* input = context.allocate(256);
      void* output = context.allocate(256);
      const std::array<void*, 2> buffers{input, output};
      {
        Operation operation(context, broken, {{"n", 64}});
        operation.launch(buffers, {{"n", 64}});
        failures[rank] = error_of([&] { context.synchronize(); });
        if (context.rank() == 1) return context.free(output), context.free(input), context.barrier();
        const std::string again = error_of([&] { operation.launch(buffers, {{"n", 64}}); });
        EXPECT_NE(again.find("cannot be launched again"), std::string::npos) << again;
      }
      context.free(output);
      context.free(input);
      context.barrier();
    });
    EXPECT_EQ(failures[1], "");
    EXPECT_NE(failures[0].find("deadlock"), std::string::npos);
    world.run([&](Context& context) {
      const int mine = 7 << (4 * context.rank());
      void* input = context.allocate(4);
      void* output = context.allocate(4);
      context.device().copy(input, &mine, 4);
      Operation operation(context, sound, {{"n", 1}});
      const std::array<void*, 2> buffers{input, output};
      operation.launch(buffers, {{"n", 1}});
      context.device().copy(&sums[static_cast<std::size_t>(context.rank())], output, 4);
      context.free(output);
      context.free(input);
    });
    EXPECT_EQ(sums, std::vector<int>(3, 0x777));
  }
}

}  // namespace
}  // namespace iris::host_failures_test
