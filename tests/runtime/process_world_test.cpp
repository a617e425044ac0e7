// Worlds whose ranks are processes, on the CPU.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "disagreement.hpp"
#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "sanitizers.hpp"

namespace iris::process_world_test {
namespace {

using test::error_of;
using test::expect_all_say;
using test::host_operation;
using test::join;
using test::LeastBootstrap;
using test::ProcessOutcome;
using test::run_ranks;

TEST(ProcessWorld, RunsThisProcessesRankOnTheCallingThread) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = join();
    std::string said;
    world.run([&](Context& context) {
      said = std::to_string(context.rank()) + " of " + std::to_string(context.num_ranks());
      context.barrier();
    });
    return said + (world.size() == 3 && world.target() == "host" ? "" : "; wrong") + (number < 3 ? "" : "?");
  });
  ASSERT_EQ(outcomes.size(), 3);
  EXPECT_EQ(outcomes[0].said, "0 of 3");
  EXPECT_EQ(outcomes[1].said, "1 of 3");
  EXPECT_EQ(outcomes[2].said, "2 of 3");
}

TEST(ProcessWorld, LetsRanksReachOneAnothersMemory) {
  expect_all_say(run_ranks(4,
                           [](int) {
                             World world = join();
                             int wrong = 0;
                             world.run([&](Context& context) {
                               auto* mine = static_cast<int*>(context.allocate(16 * sizeof(int)));
                               for (int i = 0; i < 16; ++i) mine[i] = 100 * context.rank() + i * i;
                               context.barrier();
                               for (int rank = 0; rank < 4; ++rank) {
                                 const int* theirs = static_cast<int*>(context.on_rank(mine, rank));
                                 for (int i = 0; i < 16; ++i) wrong += theirs[i] != 100 * rank + i * i ? 1 : 0;
                               }
                               context.barrier();
                             });
                             return std::to_string(wrong) + " wrong";
                           }),
                 "0 wrong");
}

/// The sum over three ranks, many launches in a row.
TEST(ProcessWorld, RunsKernelsThatWaitForOneAnother) {
  expect_all_say(run_ranks(3,
                           [](int) {
                             World world = join();
                             int wrong = 0;
                             world.run([&](Context& context) {
                               constexpr int n = 1000;
                               Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
                               auto* input = static_cast<std::int32_t*>(context.allocate(n * 4));
                               auto* output = static_cast<std::int32_t*>(context.allocate(n * 4));
                               for (int launch = 0; launch < 20; ++launch) {
                                 for (int i = 0; i < n; ++i) input[i] = (context.rank() + 1) * (i * i + launch);
                                 context.barrier();
                                 void* buffers[] = {input, output};
                                 sum.launch(buffers, {{"n", n}});
                                 context.barrier();
                                 for (int i = 0; i < n; ++i) wrong += output[i] != 6 * (i * i + launch) ? 1 : 0;
                               }
                             });
                             return std::to_string(wrong) + " wrong";
                           }),
                 "0 wrong");
}

TEST(ProcessWorld, TellsEveryRankWhoAskedForWhat) {
  expect_all_say(run_ranks(3,
                           [](int number) {
                             World world = join();
                             return error_of([&] {
                               world.run([&](Context& context) { context.allocate(number == 2 ? 512 : 256); });
                             });
                           }),
                 "rank 0: ranks disagree in a collective call, which all must make alike and in the same order; ranks "
                 "0, 1: allocate(256 bytes); rank 2: allocate(512 bytes)");
}

TEST(ProcessWorld, TellsBothRanksWhateverTwoCallsTheyMake) {
  expect_all_say(run_ranks(2,
                           [](int) {
                             World world = join();
                             std::string wrong;
                             world.run([&](Context& context) { wrong = test::disagree_in_every_call(context); });
                             return wrong;
                           }),
                 "");
}

TEST(ProcessWorld, TellsEveryRankWhoseWorldIsAnother) {
  for (const ProcessOutcome& outcome : run_ranks(2, [](int number) {
         join(number == 0 ? 4096 : 8192);
         return std::string();
       })) {
    EXPECT_NE(
        outcome.said.find("rank 0: World::join(host, heap of 4096 bytes); rank 1: World::join(host, heap of 8192"),
        std::string::npos)
        << outcome.said;
  }
}

TEST(ProcessWorld, TellsEveryRankThatLaunchesDiffer) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = join();
    std::string refused = "accepted";
    error_of([&] {
      world.run([&](Context& context) {
        Operation sum(context, host_operation("sum_of_three", 3), {{"n", 64}});
        void* buffers[] = {context.allocate(256), context.allocate(256)};
        // One after another, so that it is certain which is told.
        for (int turn = 0; turn < 3; ++turn) {
          if (turn == number) {
            const std::string error = error_of([&] { sum.launch(buffers, {{"n", number == 1 ? 32 : 64}}); });
            if (!error.empty()) refused = error;
          }
          context.allocate(16);
        }
        if (number == 1) throw std::runtime_error("launched otherwise");
      });
    });
    return refused;
  });
  EXPECT_EQ(outcomes[0].said, "accepted");
  EXPECT_EQ(outcomes[2].said, "accepted");
  EXPECT_NE(outcomes[1].said.find("launch 1 on rank 1 (m = 1, n = 32"), std::string::npos) << outcomes[1].said;
}

TEST(ProcessWorld, RunsAgainAfterAFailure) {
  expect_all_say(run_ranks(3,
                           [](int number) {
                             World world = join();
                             std::string said;
                             for (int round = 0; round < 5; ++round) {
                               said += error_of([&] {
                                         world.run([&](Context& context) {
                                           if (number == round % 3) throw std::logic_error("no");
                                           context.barrier();
                                         });
                                       }) +
                                       ";";
                               world.run([](Context& context) { context.barrier(); });
                             }
                             return said;
                           }),
                 "rank 0: no;rank 1: no;rank 2: no;rank 0: no;rank 1: no;");
}

/// Bodies whose kernels nobody waits for before the body's end, and copies that signal.
TEST(ProcessWorld, RunsLaunchesWhileTheRankDoesSomethingElse) {
  expect_all_say(run_ranks(3,
                           [](int number) {
                             World world = join();
                             int wrong = 0;
                             world.run([&](Context& context) {
                               constexpr int n = 64;
                               Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
                               auto* input = static_cast<std::int32_t*>(context.allocate(n * 4));
                               auto* output = static_cast<std::int32_t*>(context.allocate(n * 4));
                               for (int i = 0; i < n; ++i) input[i] = i * (number + 1);
                               context.barrier();
                               void* buffers[] = {input, output};
                               sum.launch(buffers, {{"n", n}});
                               // Rank 0 goes on to a collective call, and its kernel must run meanwhile.
                               if (number != 0) context.synchronize();
                               context.allocate(16);
                               context.synchronize();
                               for (int i = 0; i < n; ++i) wrong += output[i] != 6 * i ? 1 : 0;
                             });
                             return std::to_string(wrong) + " wrong";
                           }),
                 "0 wrong");
}

/// As a framework's operators use it: no body, one call after another.
TEST(ProcessWorld, HandsOutItsRankToWhoHasNoBody) {
  expect_all_say(run_ranks(3,
                           [](int) {
                             World world = join();
                             constexpr int n = 100;
                             Operation sum(world.context(), host_operation("sum_of_three", 3), {{"n", n}});
                             auto* input = static_cast<std::int32_t*>(world.context().allocate(n * 4));
                             auto* output = static_cast<std::int32_t*>(world.context().allocate(n * 4));
                             int wrong = 0;
                             for (int launch = 0; launch < 5; ++launch) {
                               for (int i = 0; i < n; ++i) input[i] = (world.context().rank() + 1) * (i + launch);
                               world.context().barrier();
                               sum.launch({input, output}, {{"n", n}});
                               world.context().barrier();
                               for (int i = 0; i < n; ++i) wrong += output[i] != 6 * (i + launch) ? 1 : 0;
                             }
                             return std::to_string(wrong) + " wrong; " + error_of([&] { world.run([](Context&) {}); });
                           }),
                 "0 wrong; World::run is called while World::run runs, or World::context() is used");
}

/// Even if an operation, which keeps what it needs of its World, outlives it.
TEST(ProcessWorld, TellsThoseWhoCallARankWhoseWorldHasEnded) {
  constexpr std::size_t leaver = 1;
  const auto outcomes = run_ranks(
      3,
      [](int number) {
        auto world = std::unique_ptr<World>(new World(join()));
        const Operation sum(world->context(), host_operation("sum_of_three", 3), {{"n", 8}});
        if (number == leaver) {
          world.reset();
          ::pause();  // until the others have ended
        }
        return error_of([&] { world->context().barrier(); });
      },
      leaver);
  for (const std::size_t rank : {0, 2}) {
    EXPECT_TRUE(outcomes[rank].said.starts_with("barrier() cannot be done: rank 1")) << outcomes[rank].said;
  }
}

/// Every thread of every launch adds one to a counter of rank 0's.
TEST(ProcessWorld, AtomicsAreAtomicBetweenProcesses) {
  constexpr int launches = test::with_sanitizers ? 200 : 2000;
  const auto outcomes = run_ranks(2, [](int number) {
    World world = join();
    int least = 0;
    world.run([&](Context& context) {
      Operation draw(context, host_operation("note_order", 2), {{"n", 128}});
      auto* output = static_cast<std::int32_t*>(context.allocate(512));
      void* buffers[] = {context.allocate(512), output};
      context.barrier();
      for (int launch = 0; launch < launches; ++launch) draw.launch(buffers, {{"n", 128}});
      context.barrier();
      if (number == 0) draw.launch(buffers, {{"n", 128}});
      context.synchronize();
      least = *std::min_element(output, output + 128);
      context.barrier();
    });
    return std::to_string(least);
  });
  EXPECT_EQ(outcomes[0].said, std::to_string(2 * launches * 128));
}

/// Locks, whose holders are other processes.
TEST(ProcessWorld, LocksHoldBetweenProcesses) {
  expect_all_say(run_ranks(3,
                           [](int) {
                             World world = join();
                             std::string counts;
                             world.run([&](Context& context) {
                               Operation count(context, host_operation("count_under_lock", 3), {{"n", 64}});
                               auto* output = static_cast<std::int32_t*>(context.allocate(256));
                               void* buffers[] = {context.allocate(256), output};
                               for (int launch = 0; launch < 10; ++launch) {
                                 count.launch(buffers, {{"n", 64}});
                                 context.barrier();
                                 counts += std::to_string(output[0]) + "," + std::to_string(output[1]) + " ";
                                 context.barrier();
                               }
                             });
                             return counts;
                           }),
                 "12,12 12,12 12,12 12,12 12,12 12,12 12,12 12,12 12,12 12,12 ");
}

TEST(ProcessWorld, TakesABootstrapOfTheProgramsOwn) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = World::join({.heap_bytes = 1 << 16}, std::make_shared<LeastBootstrap>());
    world.run([](Context& context) { context.barrier(); });
    return error_of([&] {
      world.run([&](Context& context) {
        if (number == 1) throw std::runtime_error("the disk is on fire");
        context.barrier();
      });
    });
  });
  expect_all_say(outcomes, "rank 1: the disk is on fire");
}

/// As one of connect_processes() is: groups work, and ranks are told of one that goes.
TEST(ProcessWorld, ConnectsThroughABootstrapOfTheProgramsOwn) {
  const auto outcomes = run_ranks(3, [](int number) {
    std::shared_ptr<Bootstrap> connected;
    {
      test::LeastBootstrap others;
      connected = connect_through(others);
    }
    World world = World::join({.heap_bytes = 1 << 16}, connected);
    std::string said;
    error_of([&] {
      world.run([&](Context& context) {
        Group group = context.group({2, 0, 1});
        group.barrier();
        if (number == 1) ::kill(::getpid(), SIGKILL);
        said = error_of([&] { group.barrier(); });
      });
    });
    return said;
  });
  for (const std::size_t rank : {0U, 2U}) {
    test::expect_part(outcomes[rank].said, "barrier() in group {2, 0, 1} cannot be done: rank 1 (process ");
    test::expect_part(outcomes[rank].said, "has vanished after its call of barrier() in group {2, 0, 1}");
  }
}

}  // namespace
}  // namespace iris::process_world_test
