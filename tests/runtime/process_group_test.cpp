// Groups of ranks that are processes, on the CPU.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "error_words.hpp"
#include "grid_of_ranks.hpp"
#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "processes.hpp"

namespace iris::process_group_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;
using test::join;
using test::ProcessOutcome;
using test::run_ranks;

/// What a body's World::run threw on each of so many ranks, or what it said.
std::vector<ProcessOutcome> outcomes_of(int size, const std::function<void(Context&)>& body) {
  return run_ranks(size, [&](int) {
    World world = join();
    world.run(body);
    return std::string("done");
  });
}

TEST(ProcessGroup, RowsAndColumnsTakeTurns) {
  const auto outcomes = run_ranks(4, [](int) {
    World world = join();
    std::string said;
    world.run([&](Context& context) {
      said = test::rows_and_columns(context, host_operation("sum_of_two", 2), test::gather_of_two(), 30);
    });
    return said + "|";
  });
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "|");
}

/// Their calls, heaps and kernels; each as often as it likes.
TEST(ProcessGroup, DisjointGroupsDoNotMeet) {
  const auto outcomes = outcomes_of(5, [](Context& context) {
    const int rank = context.rank();
    Group group = context.group(rank < 2 ? std::vector{1, 0} : std::vector{4, 2, 3});
    for (int round = 0; round < (rank < 2 ? 5 : 12); ++round) {
      auto* input = static_cast<std::int32_t*>(group.allocate(static_cast<std::size_t>(256 + 256 * round)));
      auto* output = static_cast<std::int32_t*>(group.allocate(256));
      {
        Operation sum(group, host_operation(rank < 2 ? "sum_of_two" : "sum_of_three", group.num_ranks()), {{"n", 64}});
        for (int i = 0; i < 64; ++i) input[i] = (rank + 1) * (i + round);
        group.barrier();
        sum.launch({input, output}, {{"n", 64}});
        group.barrier();
      }
      for (int i = 0; i < 64; ++i) {
        if (output[i] != (rank < 2 ? 3 : 12) * (i + round)) throw std::runtime_error("wrong sum");
      }
      group.free(input);
      if (round % 2 == 0) group.free(output);
    }
    context.barrier();
  });
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "done");
}

TEST(ProcessGroup, TellsMembersThatGiveAnotherOrder) {
  const auto outcomes = outcomes_of(3, [](Context& context) {
    if (context.rank() == 0) context.group({0, 2});
    if (context.rank() == 2) context.group({2, 0});
  });
  for (const ProcessOutcome& outcome : outcomes) {
    expect_part(outcome.said, "rank 0: group {0, 2}; rank 2: group {2, 0}");
  }
}

TEST(ProcessGroup, TellsRanksThatWaitForOneAnother) {
  const std::filesystem::path told = std::filesystem::temp_directory_path() / ("irisgen_told_" + test::new_job());
  const auto outcomes = outcomes_of(5, [&](Context& context) {
    const int rank = context.rank();
    if (rank >= 3) {  // which wait for nobody else, and meet until long after a deadlock must have been told
      Group others = context.group({3, 4});
      for (int round = 0; round < 50; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        others.barrier();
      }
      if (!std::filesystem::exists(told)) throw std::runtime_error("nobody was told");
      return;
    }
    Group pair = context.group(rank == 2 ? std::vector{2} : std::vector{0, 1});
    Group all = context.group({0, 1, 2});
    try {
      if (rank == 0) pair.barrier();
      all.allocate(64);
    } catch (const std::exception&) {
      std::filesystem::create_directory(told);
      throw;
    }
  });
  std::filesystem::remove(told);
  for (const ProcessOutcome& outcome : outcomes) {
    expect_part(outcome.said,
                "ranks wait for one another in calls of different groups, which all must make in the same order; rank "
                "0: barrier() in group {0, 1}; ranks 1, 2: allocate(64 bytes) in group {0, 1, 2}");
  }
}

/// Rank 2's body is over, and its process waits for the end of the others'.
TEST(ProcessGroup, TellsMembersOfARankThatHasEndedAndNobodyElse) {
  const auto outcomes = run_ranks(4, [](int number) {
    World world = join();
    std::string said;
    const std::string run = error_of([&] {
      world.run([&](Context& context) {
        std::optional<Group> with_it;
        if (number != 3) with_it = context.group({0, 1, 2});
        std::optional<Group> without;
        if (number != 2) without = context.group({0, 1, 3});
        if (with_it) with_it->barrier();
        // Ends while rank 0 waits for it, most likely.
        if (number == 2) return std::this_thread::sleep_for(std::chrono::milliseconds(300));
        if (number == 0) said = error_of([&] { with_it->barrier(); });
        // For longer than what looks like a deadlock may last: rank 0 waits for nobody meanwhile, and the others for
        // it.
        if (number == 0) std::this_thread::sleep_for(std::chrono::seconds(3));
        for (int round = 0; round < 50; ++round) without->barrier();
      });
    });
    world.run([](Context& context) { context.barrier(); });
    return said + "|" + run;
  });
  EXPECT_EQ(outcomes[0].said, "barrier() in group {0, 1, 2} cannot be done: rank 2 has ended|");
  for (const std::size_t rank : {1U, 2U, 3U}) EXPECT_EQ(outcomes[rank].said, "|");
}

/// After a failed run, in which not all have made the group.
TEST(ProcessGroup, IsMadeAnewInEachRun) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = join();
    std::string said;
    for (int round = 0; round < 6; ++round) {
      said += error_of([&] {
                world.run([&](Context& context) {
                  if (round % 2 == 0 && number == 1) throw std::runtime_error("no");
                  if (number != 2) context.group({0, 1}).barrier();
                });
              }) +
              ";";
    }
    return said;
  });
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "rank 1: no;;rank 1: no;;rank 1: no;;");
}

/// A Bootstrap that cannot split when it is told not to.
class FailingSplit final : public Bootstrap {
 public:
  int rank() const override { return others_->rank(); }
  int size() const override { return others_->size(); }
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override {
    return others_->all_gather(bytes, call);
  }
  std::shared_ptr<Bootstrap> split(const Subset& subset) override {
    if (--splits_left < 0) throw std::runtime_error("no memory left");
    return others_->split(subset);
  }
  int splits_left = 1000;

 private:
  std::shared_ptr<Bootstrap> others_ = connect_processes();
};

/// One rank fails at either stage of making a group, or begins to make it while the other does something else.
TEST(ProcessGroup, WhoseMakingFailedIsMadeByTheNextCall) {
  const auto outcomes = run_ranks(2, [](int number) {
    const auto bootstrap = std::make_shared<FailingSplit>();
    World world = World::join({.heap_bytes = 1 << 16}, bootstrap);
    std::string said;
    world.run([&](Context& context) {
      const auto make = [&] { return error_of([&] { context.group({1, 0}).barrier(); }) + ";"; };
      if (number == 1) {
        bootstrap->splits_left = 0;  // before the others are asked, who wait
        said += make();
        bootstrap->splits_left = 1;
      }
      said += make();
      bootstrap->splits_left = 1000;
      said += make();
      said += error_of([&] { number == 0 ? static_cast<void>(context.group({1, 0})) : context.barrier(); }) + ";";
      said += make();
    });
    return said;
  });
  const std::string in_step =
      "group {1, 0} cannot be done on rank 1: no memory left;;"
      "CALL cannot be done: ranks wait for one another in calls of different groups, which all must make in the same "
      "order; rank 0: group {1, 0}; rank 1: barrier();;";
  const auto of = [&](const std::string& call) { return std::string(in_step).replace(in_step.find("CALL"), 4, call); };
  EXPECT_EQ(outcomes[0].said, of("group {1, 0}"));
  EXPECT_EQ(outcomes[1].said, "no memory left;" + of("barrier()"));
}

TEST(ProcessGroup, NeedsABootstrapThatCanSplit) {
  const auto outcomes = run_ranks(2, [](int) {
    World world = World::join({.heap_bytes = 1 << 16}, std::make_shared<test::LeastBootstrap>());
    world.run([](Context& context) { context.group({0, 1}); });
    return std::string();
  });
  for (const ProcessOutcome& outcome : outcomes) {
    expect_part(outcome.said, "cannot reach some ranks without the others, as groups must: override Bootstrap::split");
  }
}

/// Which rank goes: the one that holds the sockets, and one that does not.
class ProcessGroupDeath : public testing::TestWithParam<int> {
 protected:
  std::string name() const { return "rank " + std::to_string(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, ProcessGroupDeath, testing::Values(0, 1));

TEST_P(ProcessGroupDeath, IsToldToItsGroups) {
  const auto outcomes = outcomes_of(4, [&](Context& context) {
    if (context.rank() == 3) return;
    Group group = context.group({2, 1, 0});
    group.allocate(64);
    if (context.rank() == GetParam()) ::kill(::getpid(), SIGKILL);
    group.barrier();
  });
  expect_part(outcomes[2].said, "barrier() in group {2, 1, 0} cannot be done: " + name() + " (process ");
  expect_part(outcomes[2].said, "has vanished after its call of allocate(64 bytes) in group {2, 1, 0}");
}

TEST_P(ProcessGroupDeath, IsToldToTheKernelsOfItsGroups) {
  const auto outcomes = outcomes_of(4, [&](Context& context) {
    if (context.rank() == 3) return;
    Group group = context.group({2, 1, 0});
    Operation sum(group, host_operation("sum_of_three", 3), {{"n", 64}});
    void* buffers[] = {group.allocate(256), group.allocate(256)};
    if (context.rank() == GetParam()) ::kill(::getpid(), SIGKILL);
    sum.launch(buffers, {{"n", 64}});
    group.synchronize();
  });
  expect_part(outcomes[2].said, name() + " (process ");
  expect_part(outcomes[2].said, "sum_of_three in group {2, 1, 0}, rank 2, blocks 0-1: waits for " + name());
}

/// Rank 1 dies; a group without it goes on.
TEST(ProcessGroupOthers, DeathOfAnotherDoesNotDisturbAGroup) {
  const auto outcomes = run_ranks(3, [](int number) {
    World world = join();
    std::string said;
    error_of([&] {
      world.run([&](Context& context) {
        Group pair = context.group(number == 1 ? std::vector{1} : std::vector{0, 2});
        context.barrier();
        if (number == 1) ::kill(::getpid(), SIGKILL);
        said = error_of([&] { context.barrier(); }) + "|";  // from here on it is known
        said += error_of([&] {
          for (int round = 0; round < 20; ++round) pair.free(pair.allocate(100));
        });
      });
    });
    return said;
  });
  for (const std::size_t rank : {0U, 2U}) {
    expect_part(outcomes[rank].said, "barrier() cannot be done: rank 1 (process ");
    EXPECT_TRUE(outcomes[rank].said.ends_with("|")) << outcomes[rank].said;
  }
}

class ProcessSurvivors : public testing::TestWithParam<std::vector<int>> {};

// Rank 0's process is the one through which the others speak.
INSTANTIATE_TEST_SUITE_P(Dead, ProcessSurvivors,
                         testing::Values(std::vector{0}, std::vector{1}, std::vector{1, 3}, std::vector{0, 1},
                                         std::vector{0, 3}));

/// Those that are left, by what the old world's Bootstrap says, in a world of their own.
TEST_P(ProcessSurvivors, BuildASmallerWorld) {
  const std::vector<int>& dead = GetParam();
  const auto is_dead = [&](int number) { return std::ranges::find(dead, number) != dead.end(); };
  const int ranks = 3 + static_cast<int>(dead.size());
  const auto outcomes = run_ranks(ranks, [&](int number) {
    const std::shared_ptr<Bootstrap> all = connect_processes();
    {
      World world = World::join({.heap_bytes = 1 << 16}, all);
      error_of([&] {
        world.run([&](Context& context) {
          context.barrier();
          // One after the other: the first cannot tell of the second.
          while (is_dead(number) && number != dead.front() && all->lost(dead.front()).empty()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          if (is_dead(number)) ::kill(::getpid(), SIGKILL);
          context.barrier();
        });
      });
    }
    std::vector<int> survivors;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // for the last of them to die
    while (survivors.size() != 3 && std::chrono::steady_clock::now() < end) {
      survivors.clear();
      for (int rank = 0; rank < ranks; ++rank) {
        if (all->lost(rank).empty()) survivors.push_back(rank);
      }
    }
    World world = World::join({.heap_bytes = 1 << 16}, connect_processes({.ranks = survivors}));
    std::string said = std::to_string(world.size()) + ":";
    world.run([&](Context& context) {
      Operation sum(context, host_operation("sum_of_three", 3), {{"n", 64}});
      auto* input = static_cast<std::int32_t*>(context.allocate(256));
      auto* output = static_cast<std::int32_t*>(context.allocate(256));
      for (int i = 0; i < 64; ++i) input[i] = (number + 1) * (i + 1);
      context.barrier();
      sum.launch({input, output}, {{"n", 64}});
      context.barrier();
      said += std::to_string(output[0]) + "," + std::to_string(output[63]);
    });
    return said;
  });
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += is_dead(rank) ? 0 : rank + 1;
  for (int rank = 0; rank < ranks; ++rank) {
    if (is_dead(rank)) continue;
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].said,
              "3:" + std::to_string(sum) + "," + std::to_string(64 * sum));
  }
}

}  // namespace
}  // namespace iris::process_group_test
