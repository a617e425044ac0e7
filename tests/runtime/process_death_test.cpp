// What the ranks of a world of processes are told when one of them goes: its number and what it was doing, and soon.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "sanitizers.hpp"

namespace iris::process_death_test {
namespace {

using test::expect_part;
using test::host_operation;
using test::join;
using test::ProcessOutcome;
using test::run_ranks;

/// What the others say who were told; not the rank that went.
void expect_others_say(const std::vector<ProcessOutcome>& outcomes, std::size_t gone,
                       const std::vector<std::string>& parts) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (rank == gone) continue;
    EXPECT_EQ(outcomes[rank].code, 1);
    for (const std::string& part : parts) expect_part(outcomes[rank].said, part);
  }
}

/// Which rank goes: the one that holds the sockets, and one that does not.
class ProcessDeath : public testing::TestWithParam<int> {
 protected:
  std::size_t gone() const { return static_cast<std::size_t>(GetParam()); }
  std::string name() const { return "rank " + std::to_string(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, ProcessDeath, testing::Values(0, 1, 2));

TEST_P(ProcessDeath, KilledWhileOthersWaitInACall) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    world.run([&](Context& context) {
      context.allocate(64);
      if (number == GetParam()) ::kill(::getpid(), SIGKILL);
      context.barrier();
    });
    return std::string();
  });
  EXPECT_EQ(outcomes[gone()].code, 128 + SIGKILL);
  expect_others_say(
      outcomes, gone(),
      {"barrier() cannot be done: " + name() + " (process ", "has vanished", "after its call of allocate(64 bytes)"});
}

TEST_P(ProcessDeath, KilledBetweenRuns) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    world.run([](Context& context) { context.barrier(); });
    if (number == GetParam()) ::kill(::getpid(), SIGKILL);
    world.run([](Context& context) { context.barrier(); });
    return std::string();
  });
  expect_others_say(outcomes, gone(), {name() + " (process ", "has vanished"});
}

TEST_P(ProcessDeath, ExitsWithoutAWord) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    world.run([&](Context& context) {
      if (number == GetParam()) ::_exit(7);
      context.allocate(64);
    });
    return std::string();
  });
  EXPECT_EQ(outcomes[gone()].code, 7);
  expect_others_say(outcomes, gone(), {"allocate(64 bytes) cannot be done: " + name() + " (process ", "has vanished"});
}

TEST_P(ProcessDeath, EndsAsItShouldWhileOthersGoOn) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    world.run([](Context& context) { context.barrier(); });
    if (number != GetParam()) world.run([](Context& context) { context.barrier(); });
    return std::string("ended");
  });
  EXPECT_EQ(outcomes[gone()].said, "ended");
  expect_others_say(outcomes, gone(), {name() + " (process ", "has ended"});
}

TEST_P(ProcessDeath, Throws) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    std::string here;
    try {
      world.run([&](Context& context) {
        if (number == GetParam()) throw std::runtime_error("the disk is on fire");
        try {
          context.barrier();
        } catch (const std::exception& error) {
          here = error.what();
          throw;
        }
      });
    } catch (const std::exception& error) {
      return here + "|" + error.what();
    }
    return std::string();
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const std::string here =
        rank == gone() ? "" : "barrier() cannot be done: " + name() + " has failed: the disk is on fire";
    EXPECT_EQ(outcomes[rank].said, here + "|" + name() + ": the disk is on fire");
  }
}

/// Stopped, as by Ctrl-Z or a debugger: nothing of it answers. The contract is 5 s; a busy machine may add to that.
TEST_P(ProcessDeath, Stopped) {
  const auto body = [&](int number) {
    World world = join();
    std::chrono::steady_clock::time_point met;
    std::string words = "nothing";
    try {
      world.run([&](Context& context) {
        context.barrier();
        met = std::chrono::steady_clock::now();
        if (number == GetParam()) ::kill(::getpid(), SIGSTOP);
        context.barrier();
      });
    } catch (const std::exception& error) {
      words = error.what();
    }
    const auto waited = std::chrono::steady_clock::now() - met;
    return words + (waited < std::chrono::seconds(10) ? " |in time" : " |late");
  };
  const auto outcomes = run_ranks(3, body, gone());
  for (std::size_t rank = 0; rank < 3; ++rank) {
    if (rank == gone()) continue;
    expect_part(outcomes[rank].said, name() + " (process ");
    expect_part(outcomes[rank].said,
                "has not been heard of for 4 s, as if it were stopped after its call of barrier()");
    expect_part(outcomes[rank].said, "|in time");
  }
}

/// The others' kernels wait for one that will never launch its own.
TEST_P(ProcessDeath, KilledWhileOthersKernelsWait) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    world.run([&](Context& context) {
      constexpr int n = 64;
      Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
      void* buffers[] = {context.allocate(n * 4), context.allocate(n * 4)};
      if (number == GetParam()) ::kill(::getpid(), SIGKILL);
      sum.launch(buffers, {{"n", n}});
      context.synchronize();
    });
    return std::string();
  });
  expect_others_say(outcomes, gone(),
                    {name() + " (process ", "has vanished", "no thread of this process's kernels can go on",
                     "sum_of_three", "waits for " + name() + " to enter the collective"});
}

/// A rank that has failed, and whose process lives on, is known to the others' kernels, too.
TEST_P(ProcessDeath, ThrowsWhileOthersKernelsWait) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    world.run([&](Context& context) {
      constexpr int n = 64;
      Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
      void* buffers[] = {context.allocate(n * 4), context.allocate(n * 4)};
      if (number == GetParam()) throw std::runtime_error("the disk is on fire");
      sum.launch(buffers, {{"n", n}});
      context.synchronize();
    });
    return std::string();
  });
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "threw: " + name() + ": the disk is on fire");
}

/// Stages of a world's life, counted: each collective call of its join and of its body, and some places between them.
class Stages {
 public:
  explicit Stages(int last) : last_(last) {}
  /// At the last one the process, or its rank, goes.
  void pass() {
    if (++passed_ == last_) go();
  }
  int passed() const { return passed_; }
  std::function<void()> go = [] {};

 private:
  int last_;
  int passed_ = 0;
};

constexpr int every_stage = 1000;

/// Join, allocate, adopt, make a group and operations, launch.
void live(Stages& stages) {
  stages.pass();
  const auto bootstrap = std::make_shared<test::WatchedBootstrap>([&](const std::string& call) {
    if (call != "the end of World::run") stages.pass();
  });
  stages.pass();
  World world = World::join({.heap_bytes = 1 << 20}, bootstrap);
  world.run([&](Context& context) {
    constexpr int n = 64;
    void* buffers[] = {context.allocate(n * 4), context.allocate(n * 4)};
    Group group = context.group({2, 0, 1});
    Operation sum(group, host_operation("sum_of_three", 3), {{"n", n}});
    stages.pass();
    sum.launch(buffers, {{"n", n}});
    stages.pass();
    group.barrier();
    const std::unique_ptr<char, void (*)(void*)> page(static_cast<char*>(std::aligned_alloc(4096, 4096)), std::free);
    context.as_symmetric(page.get(), 4096);
    stages.pass();
    context.release_symmetric(page.get());
  });
}

int count_stages() {
  const auto outcomes = run_ranks(3, [](int) {
    Stages stages(every_stage);
    live(stages);
    return std::to_string(stages.passed());
  });
  EXPECT_EQ(outcomes[0].said, outcomes[1].said);
  EXPECT_EQ(outcomes[0].said, outcomes[2].said);
  return std::stoi(outcomes[0].said);
}

/// That world, one of whose ranks goes at that stage, and what the others say.
std::vector<ProcessOutcome> live_until(int stage, std::size_t gone, const std::function<void()>& go,
                                       std::optional<std::size_t> stopped = {}) {
  return run_ranks(
      3,
      [&](int number) {
        Stages stages(static_cast<std::size_t>(number) == gone ? stage : every_stage);
        stages.go = go;
        live(stages);
        return std::string("done");
      },
      stopped);
}

/// Nobody hangs, and everybody says which rank it was. The first stage is another matter: whoever never comes is waited
/// for.
TEST_P(ProcessDeath, AtEveryStageIsToldToTheOthers) {
  const int stages = count_stages();
  EXPECT_GT(stages, 20);
  const std::vector<std::function<void()>> ways = {[] { ::kill(::getpid(), SIGKILL); }, [] { ::_exit(7); },
                                                   [] { throw std::runtime_error("the disk is on fire"); }};
  // Under sanitizers, where each process takes long to begin, the ranks go at different ones of the stages.
  const int step = test::with_sanitizers ? 5 : 1;
  for (int stage = 2 + static_cast<int>(gone()) % step; stage <= stages; stage += step) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      SCOPED_TRACE("stage " + std::to_string(stage) + ", way " + std::to_string(way));
      const auto outcomes = live_until(stage, gone(), ways[way]);
      EXPECT_EQ(outcomes[gone()].code, std::vector({128 + SIGKILL, 7, 1}).at(way));
      expect_others_say(outcomes, gone(), {name()});
    }
  }
}

/// The same of a rank that is stopped. All at once, since each takes 4 s.
TEST(ProcessDeathStages, StoppedAtAnyIsToldToTheOthers) {
  const int stages = count_stages();
  test::Processes worlds;
  for (int stage = 2; stage <= stages; ++stage) {
    worlds.start(stage, [](int number) {
      const auto outcomes = live_until(number, 1, [] { ::kill(::getpid(), SIGSTOP); }, 1);
      std::string said;
      for (const std::size_t rank : {0U, 2U}) {
        if (outcomes[rank].said.find("rank 1 (process ") == std::string::npos) said += outcomes[rank].said + "|";
      }
      return said;
    });
  }
  test::expect_all_say(worlds.wait(), "");
}

/// Stopped for a while, as by a debugger, and then continued, before it is given up: nothing has happened.
TEST(ProcessDeathStages, StoppedForAWhileTakesPartAgain) {
  test::Processes processes;
  const std::string job = test::new_job();
  for (int rank = 0; rank < 2; ++rank) {
    processes.start(rank, [&](int number) {
      test::become_rank(number, 2, job);
      World world = join();
      int wrong = 0;
      world.run([&](Context& context) {
        auto* mine = static_cast<int*>(context.allocate(4));
        for (int round = 0; round < 3000; ++round) {
          *mine = 2 * round + number;
          context.barrier();
          wrong += *static_cast<int*>(context.on_rank(mine, 1 - number)) != 2 * round + 1 - number ? 1 : 0;
          context.barrier();
        }
      });
      return std::to_string(wrong) + " wrong";
    });
  }
  for (int round = 0; round < 4; ++round) {
    for (const std::size_t rank : {1U, 0U}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ::kill(processes.process(rank), SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      ::kill(processes.process(rank), SIGCONT);
    }
  }
  test::expect_all_say(processes.wait(), "0 wrong");
}

/// Nobody else can mend a block sync that some threads never reach: that is told at once, and exactly.
TEST(ProcessDeadlock, WithinOneProcessIsReportedExactly) {
  const auto outcomes = run_ranks(2, [&](int) {
    World world = join();
    world.run([&](Context& context) {
      Operation lonely(context, host_operation("divergent_sync", 2), {{"n", 64}});
      void* buffers[] = {context.allocate(256), context.allocate(256)};
      lonely.launch(buffers, {{"n", 64}});
      context.synchronize();
    });
    return std::string();
  });
  for (const ProcessOutcome& outcome : outcomes) {
    expect_part(outcome.said, "deadlock: no thread of any kernel can go on");
    expect_part(outcome.said, "stands at a block sync");
  }
}

/// Whom a kernel waits for is alive and busy: the wait is bounded by the kernel's own timeout.
TEST(ProcessDeadlock, AmongProcessesIsBoundedByTheKernelsTimeout) {
  const auto outcomes = run_ranks(3, [&](int number) {
    World world = join();
    std::string words;
    world.run([&](Context& context) {
      BuiltOperation built = host_operation("missing_signal", 3);
      built.manifest.timeout_ms = 300;
      Operation waits(context, built, {{"n", 64}});
      void* buffers[] = {context.allocate(256), context.allocate(256)};
      waits.launch(buffers, {{"n", 64}});
      try {
        context.synchronize();
      } catch (const std::exception& error) {
        words = error.what();
      }
      context.barrier();
    });
    return std::to_string(number) + ": " + words;
  });
  expect_part(outcomes[0].said, "no thread of this process's kernels has gone on for 300 ms");
  expect_part(outcomes[0].said,
              "missing_signal, rank 0, blocks 0-1: waits for rank 1 to deliver its contribution; "
              "expected step 0 of launch 1, saw no launch");
  expect_part(outcomes[2].said, "missing_signal, rank 2, blocks 0-1: waits for rank 1");
}

}  // namespace
}  // namespace iris::process_death_test
