// The CPU engine: that kernels run, in an order that is seeded and that streams bind, and what it does not take.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_engine_samples.hpp"
#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "sanitizers.hpp"

namespace iris::host_engine_test {
namespace {

using test::error_of;
using test::host_operation;
using test::outputs_of;

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
  for (std::uint64_t seed = 0; seed < test::orders(32); ++seed) {
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

TEST(HostEngine, RoundsToNearestWhateverTheProgramDoes) {
  std::fesetround(FE_DOWNWARD);
  const auto outputs = outputs_of("a_third", 1, 64);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(outputs.front(), std::vector<int>(64, 0x3eaaaaab));
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
    device.destroy_stream(stream);
    EXPECT_GT(device.milliseconds(start, stop), 0.0) << "events outlive their stream";
    device.destroy_event(start);
    device.destroy_event(stop);
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
}  // namespace iris::host_engine_test
