// The CPU engine: that kernels run, that their order is seeded, and that what can never go on is reported.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "runtime/host/address_sanitizer.hpp"

namespace iris {
namespace {

using test::error_of;
using test::host_operation;

/// The output that a kernel of 2 · 32 threads leaves on each rank, for input[i] = 1000 · rank + i · i.
std::vector<std::vector<int>> outputs_of(const std::string& symbol, int world_size, std::int64_t n,
                                         std::uint64_t seed = 0, int launches = 1) {
  World world({.size = world_size, .heap_bytes = 1 << 20, .seed = seed});
  BuiltOperation built = host_operation(symbol, world_size);
  built.manifest.timeout_ms = 24 * 3600 * 1000;
  std::vector<std::vector<int>> outputs(static_cast<std::size_t>(world_size));
  world.run([&](Context& context) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(int);
    void* input = context.allocate(bytes);
    void* output = context.allocate(bytes);
    std::vector<int> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 * context.rank() + static_cast<int>(i * i);
    context.device().copy(input, values.data(), bytes);
    context.device().fill(output, 0xa5, bytes);
    Operation operation(context, built, {{"n", n}});
    const std::array<void*, 2> buffers{input, output};
    for (int launch = 0; launch < launches; ++launch) operation.launch(buffers, {{"n", n}});
    context.synchronize();
    context.device().copy(values.data(), output, bytes);
    outputs[static_cast<std::size_t>(context.rank())] = values;
  });
  return outputs;
}

/// The words in which a run of this kernel fails, long before a wait of it would run out of time.
std::string failure_of(const std::string& symbol) {
  return error_of([&] { outputs_of(symbol, 3, 128); });
}

TEST(HostEngine, RunsEveryThreadOfEveryBlock) {
  const auto outputs = outputs_of("add_index", 2, 1001);
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < 1001; ++i) {
      ASSERT_EQ(outputs[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)], 1000 * rank + i * i + i);
    }
  }
}

TEST(HostEngine, LetsRanksMeetInLaunchAfterLaunch) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto outputs = outputs_of("sum_of_three", 3, 1001, seed, 5);
    for (const auto& output : outputs) {
      for (int i = 0; i < 1001; ++i) ASSERT_EQ(output[static_cast<std::size_t>(i)], 3000 + 3 * i * i);
    }
  }
}

TEST(HostEngine, LetsOneBlockAtATimeHoldALock) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    for (const auto& output : outputs_of("count_under_lock", 3, 64, seed, 3)) {
      EXPECT_EQ(output[0], 12) << "seed " << seed;
      EXPECT_EQ(output[1], 12) << "seed " << seed;
    }
  }
}

TEST(HostEngine, GivesEachBlockItsOwnSharedMemory) {
  const auto outputs = outputs_of("through_shared", 3, 64);
  for (int rank = 0; rank < 3; ++rank) {
    for (int i = 0; i < 64; ++i) {
      ASSERT_EQ(outputs[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)], 100 * rank + i / 32);
    }
  }
}

TEST(HostEngine, SeesFlagsThatPlainStoresRaise) {
  for (const auto& output : outputs_of("plain_store", 3, 128)) EXPECT_EQ(output[0] + output[1], 2);
}

TEST(HostEngine, RunsInAnOrderThatTheSeedDecides) {
  const auto first = outputs_of("note_order", 3, 128, 42);
  std::vector<int> drawn;
  for (const auto& output : first) drawn.insert(drawn.end(), output.begin(), output.end());
  std::ranges::sort(drawn);
  std::vector<int> all(drawn.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(drawn, all);
  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(outputs_of("note_order", 3, 128, 42), first);
  EXPECT_NE(outputs_of("note_order", 3, 128, 43), first);
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
  EXPECT_NE(failure_of("divides_by_zero").find("block 0, thread 31: divides a whole number by zero"),
            std::string::npos);
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

TEST(HostEngine, TimesAndOrdersWorkInStreams) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 1);
  world.run([&](Context& context) {
    Device& device = context.device();
    void* a = context.allocate(4096);
    void* b = context.allocate(4096);
    Stream stream = device.create_stream();
    device.fill(a, 0, 4096, stream);
    Operation operation(context, built, {{"n", 1024}});
    const Event start = device.create_event();
    const Event stop = device.create_event();
    device.record(start, stream);
    operation.launch(std::array{a, b}, {{"n", 1024}}, stream);
    operation.launch(std::array{b, a}, {{"n", 1024}}, stream);
    device.record(stop, stream);
    EXPECT_GT(device.milliseconds(start, stop), 0.0);
    std::vector<int> values(1024);
    device.copy(values.data(), a, 4096, stream);
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 2 * i);
    context.synchronize(stream);
    device.destroy_event(start);
    device.destroy_event(stop);
    device.destroy_stream(stream);
  });
}

/// A stream's copy waits for what another stream was given before, whatever the order in which the engine runs them.
TEST(HostEngine, CopiesAndWaitsInTheOrderOfStreams) {
  const BuiltOperation built = host_operation("add_index", 2);
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    World world({.size = 2, .heap_bytes = 1 << 20, .seed = seed});
    world.run([&](Context& context) {
      Device& device = context.device();
      void* a = context.allocate(4096);
      void* b = context.allocate(4096);
      void* c = context.allocate(4096);
      device.fill(a, 0, 4096);
      context.barrier();
      Operation operation(context, built, {{"n", 1024}});
      const Stream first = device.create_stream();
      const Stream second = device.create_stream();
      const Event made = device.create_event();
      operation.launch(std::array{a, b}, {{"n", 1024}}, first);
      device.record(made, first);
      operation.launch(std::array{b, a}, {{"n", 1024}}, first);  // after the recording: the other need not wait for it
      device.wait(made, second);
      device.enqueue_copy(context.on_rank(c, 1 - context.rank()), b, 4096, second);
      context.synchronize(second);
      context.synchronize(first);
      context.barrier();
      std::vector<int> values(1024);
      device.copy(values.data(), c, 4096);
      for (int i = 0; i < 1024; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
      device.destroy_event(made);
      device.destroy_stream(second);
      device.destroy_stream(first);
    });
  }
}

TEST(HostEngine, RefusesCodeThatIsNoLibrary) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  BuiltOperation built = host_operation("add_index", 1);
  built.code[0].bytes.resize(100);
  const std::string failure =
      error_of([&] { world.run([&](Context& context) { const Operation operation(context, built, {{"n", 1}}); }); });
  EXPECT_NE(failure.find("cannot load the kernel's code object for host"), std::string::npos) << failure;
}

TEST(HostEngine, NamesAnEntryThatIsNotThere) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("no_such_kernel", 1);
  const std::string failure =
      error_of([&] { world.run([&](Context& context) { const Operation operation(context, built, {{"n", 1}}); }); });
  EXPECT_NE(failure.find("no entry 'no_such_kernel_host'"), std::string::npos) << failure;
}

TEST(HostEngine, RefusesACodeObjectThatIsCutShort) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const auto library = test::host_kernel_library();
  world.run([&](Context& context) {
    for (const std::size_t bytes : {library.size() - 1, library.size() / 2, std::size_t{4096}, std::size_t{100}}) {
      CodeObject code{.target = "host", .compiler = "cut", .bytes = library};
      code.bytes.resize(bytes);
      const std::string failure = error_of([&] { context.device().load(code); });
      EXPECT_NE(failure.find("cannot load the kernel's code object for host: it is cut short"), std::string::npos)
          << bytes << " bytes: " << failure;
    }
  });
}

TEST(HostEngine, RefusesStreamsThatAreNotTheRanks) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  const BuiltOperation built = host_operation("add_index", 2);
  Stream first = nullptr;
  world.run([&](Context& context) {
    void* buffer = context.allocate(256);
    Operation operation(context, built, {{"n", 64}});
    const auto failure_with = [&](Stream stream) {
      return error_of([&] { operation.launch({buffer, buffer}, {{"n", 64}}, stream); });
    };
    const Stream stream = context.device().create_stream();
    EXPECT_EQ(failure_with(stream), "");
    context.synchronize(stream);
    if (context.rank() == 0) first = stream;
    context.barrier();
    const std::string refusal = "is given a stream that is not its own, or that was destroyed";
    EXPECT_EQ(failure_with(first).find(refusal) != std::string::npos, context.rank() == 1);
    context.synchronize(first == stream ? stream : nullptr);
    context.barrier();
    context.device().destroy_stream(stream);
    EXPECT_NE(failure_with(stream).find(refusal), std::string::npos);
    EXPECT_NE(error_of([&] { context.synchronize(stream); }).find(refusal), std::string::npos);
  });
}

TEST(HostEngine, SaysThatAWorldDoesNotComeAlongToAForkedProcess) {
  std::optional<World> world(std::in_place, WorldOptions{.size = 1, .heap_bytes = 1 << 20});
  world->run([](Context& context) { context.barrier(); });  // its thread is there, and waits
  const BuiltOperation built = host_operation("add_index", 1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    const std::string failure = error_of([&] {
      world->run([&](Context& context) {
        void* buffer = context.allocate(256);
        Operation operation(context, built, {{"n", 64}});
        operation.launch({buffer, buffer}, {{"n", 64}});
        context.synchronize();
      });
    });
    world.reset();
    ::_exit(failure.find("this World belongs to the process that fork() was called in") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(HostEngine, RefusesMoreThreadsThanItRunsBeforeItMakesThem) {
  World world({.size = 1, .heap_bytes = 1 << 20});
  const CodeObject code = host_operation("add_index", 1).code[0];
  world.run([&](Context& context) {
    const auto module = context.device().load(code);
    const Function& function = module->function("add_index");
    const std::string failure = error_of([&] {
      context.device().launch(function, {.name = "add_index", .blocks = 2'000'000'000, .threads = 1024}, {});
    });
    EXPECT_NE(failure.find("launches 2048000000000 device threads; the CPU engine runs at most 262144"),
              std::string::npos)
        << failure;
  });
}

}  // namespace
}  // namespace iris
