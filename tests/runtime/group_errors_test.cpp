// What ranks of a group are told of calls that cannot be done, and of launches that fail; they are threads, on the CPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "sum_over_group.hpp"

namespace iris::group_errors_test {
namespace {

using test::error_of;
using test::expect_part;
using test::extents;
using test::host_operation;
using test::SumOverGroup;

/// The words in which each rank's body fails.
std::vector<std::string> failures_of(int ranks, const std::function<void(Context&)>& body) {
  World world({.size = ranks, .heap_bytes = 1 << 16});
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  error_of([&] {
    world.run([&](Context& context) {
      try {
        body(context);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(context.rank())] = error.what();
        throw;
      }
    });
  });
  return failures;
}

TEST(GroupErrors, NameRanksThatCannotBeAGroup) {
  World world({.size = 3, .heap_bytes = 4096});
  world.run([](Context& context) {
    if (context.rank() != 1) return;
    const auto error = [&](const std::vector<int>& ranks) { return error_of([&] { context.group(ranks); }); };
    EXPECT_EQ(error({1, 3}), "rank 1 cannot make group {1, 3}: there is no rank 3 in a world of 3");
    EXPECT_EQ(error({-1, 1}), "rank 1 cannot make group {-1, 1}: there is no rank -1 in a world of 3");
    EXPECT_EQ(error({1, 0, 1}), "rank 1 cannot make group {1, 0, 1}: rank 1 is given twice");
    EXPECT_EQ(error({0, 2}), "rank 1 cannot make group {0, 2}: it is not among them, and only they make it");
    EXPECT_EQ(error({}), "rank 1 cannot make group {}: it is not among them, and only they make it");
  });
}

TEST(GroupErrors, TellMembersThatGiveAnotherOrder) {
  const auto failures = failures_of(3, [](Context& context) {
    if (context.rank() == 0) context.group({0, 2});
    if (context.rank() == 2) context.group({2, 0});
  });
  expect_part(failures[0], "rank 0: group {0, 2}; rank 2: group {2, 0}");
  EXPECT_EQ(failures[2], failures[0]);
}

TEST(GroupErrors, TellMembersThatGiveOthers) {
  const auto failures = failures_of(
      3, [](Context& context) { context.group(context.rank() == 0 ? std::vector{0, 1} : std::vector{0, 1, 2}); });
  expect_part(failures[0],
              "group {0, 1} cannot be done: ranks wait for one another in calls of different groups, which all must "
              "make in the same order; rank 0: group {0, 1}; rank");
  expect_part(failures[1], "group {0, 1, 2} cannot be done: ranks wait for one another");
  expect_part(failures[2], "group {0, 1, 2} cannot be done: ");
}

TEST(GroupErrors, NameTheRanksOfTheWorldThatAskForDifferentThings) {
  const auto failures = failures_of(4, [](Context& context) {
    if (context.rank() == 0) return;
    Group group = context.group({3, 1, 2});
    group.allocate(context.rank() == 1 ? 512 : 256);
  });
  expect_part(failures[3],
              "rank 1: allocate(512 bytes) in group {3, 1, 2}; ranks 2, 3: allocate(256 bytes) in group {3, 1, 2}");
}

TEST(GroupErrors, TellWhoFreedSomethingElse) {
  const auto failures = failures_of(3, [](Context& context) {
    if (context.rank() == 0) return;
    Group group = context.group({2, 1});
    void* first = group.allocate(1024);
    void* second = group.allocate(256);
    group.free(context.rank() == 1 ? second : first);
    group.allocate(128);
  });
  expect_part(failures[1],
              "ranks disagree before allocate(128 bytes) in group {2, 1}: every rank must have allocated and freed the "
              "same; rank 1: holds 1 allocations of 1024 bytes together; rank 2: holds 1 allocations of 256");
}

/// Each waits for the next, in a group that the next one is going to call.
TEST(GroupErrors, TellRanksThatWaitForOneAnother) {
  const auto failures = failures_of(4, [](Context& context) {
    const int rank = context.rank();
    if (rank == 3) return;
    std::vector<Group> groups;  // all make those that they are in, in one order
    for (const auto& ranks : {std::vector{0, 1}, std::vector{1, 2}, std::vector{0, 2}}) {
      if (std::ranges::find(ranks, rank) != ranks.end()) groups.push_back(context.group(ranks));
    }
    if (rank == 0) groups[0].barrier();     // {0, 1}
    if (rank == 1) groups[1].barrier();     // {1, 2}
    if (rank == 2) groups[1].allocate(64);  // {0, 2}
  });
  expect_part(failures[0],
              "barrier() in group {0, 1} cannot be done: ranks wait for one another in calls of different "
              "groups, which all must make in the same order; rank 0: barrier() in group {0, 1}; rank 1: "
              "barrier() in group {1, 2}; rank 2: allocate(64 bytes) in group {0, 2}");
  expect_part(failures[2], "allocate(64 bytes) in group {0, 2} cannot be done");
  EXPECT_EQ(failures[3], "");
}

/// One rank begins to make a group while the other does something else; then both make it.
TEST(GroupErrors, LeaveRanksInStep) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    for (int round = 0; round < 6; ++round) {
      const bool begins = context.rank() == round % 2;
      expect_part(error_of([&] { begins ? static_cast<void>(context.group({1, 0})) : context.barrier(); }),
                  "cannot be done: ranks wait for one another");
      Group group = context.group({1, 0});
      SumOverGroup sum(group, "sum_of_two");
      sum.launch(round, context.rank());
      sum.expect_sum(round);
    }
  });
}

TEST(GroupErrors, TellMembersOfARankThatHasEndedAndNobodyElse) {
  std::string failure;
  std::latch is_known(1);  // rank 1 would have ended as well
  const auto failures = failures_of(4, [&](Context& context) {
    const int rank = context.rank();
    std::optional<Group> with_it;
    if (rank != 3) with_it = context.group({0, 1, 2});
    std::optional<Group> without;
    if (rank != 2) without = context.group({0, 1, 3});
    if (rank == 2) return;
    for (int round = 0; round < 20; ++round) without->barrier();
    if (rank == 0) {
      failure = error_of([&] { with_it->barrier(); });
      is_known.count_down();
    }
    is_known.wait();
  });
  EXPECT_EQ(failure, "barrier() in group {0, 1, 2} cannot be done: rank 2 has ended");
  EXPECT_EQ(failures[0] + failures[1] + failures[3], "");
}

TEST(GroupErrors, SayWhatAGroupIsTooSmallFor) {
  const auto failures = failures_of(3, [](Context& context) {
    if (context.rank() == 2) return;
    Group group = context.group({1, 0});
    const Operation operation(group, host_operation("sum_of_three", 3), extents);
  });
  expect_part(failures[0], "in group {1, 0} cannot be done on rank ");
  expect_part(failures[0], "sum_of_three was made for a world of 3 ranks, group {1, 0} has 2");
}

TEST(GroupErrors, NameRanksOfTheWorldInFaults) {
  const auto failures = failures_of(5, [](Context& context) {
    if (context.rank() % 2 == 0 && context.rank() != 4) return;
    Group group = context.group({4, 1, 3});
    Operation operation(group, host_operation("raises_fault", 3), extents);
    operation.launch({group.allocate(256), group.allocate(256)}, extents);
    group.synchronize();
  });
  EXPECT_TRUE(failures[3].starts_with("raises_fault in group {4, 1, 3}: rank 3, block ")) << failures[3];
  expect_part(failures[3], " waited 10 s for rank 4 to deliver its contribution");
}

TEST(GroupErrors, NameRanksOfTheWorldInReportsOfDeadlocks) {
  const auto failures = failures_of(4, [](Context& context) {
    if (context.rank() == 0) return;
    Group group = context.group({3, 2, 1});
    Operation operation(group, host_operation("missing_signal", 3), extents);
    operation.launch({group.allocate(256), group.allocate(256)}, extents);
    group.synchronize();
  });
  expect_part(failures[3],
              "missing_signal in group {3, 2, 1}, rank 3, blocks 0-1: waits for rank 2 to deliver its contribution");
  expect_part(failures[3], "rank 0 runs no kernel; it has ended");
}

TEST(GroupErrors, NameRanksOfTheWorldWhoseLaunchesDiffer) {
  const auto failures = failures_of(4, [](Context& context) {
    if (context.rank() == 0) return;
    Group group = context.group({3, 2, 1});
    Operation operation(group, host_operation("sum_of_three", 3), extents);
    void* input = group.allocate(256);
    void* output = group.allocate(256);
    for (int turn = 3; turn >= 1; --turn) {  // one after another, so that it is certain which is told
      if (turn == context.rank()) operation.launch({input, output}, {{"n", turn == 1 ? 32 : 64}});
      group.barrier(group.device().create_stream());
    }
  });
  expect_part(failures[1], "sum_of_three in group {3, 2, 1}: launch 1 on rank 1 (m = 1, n = 32");
}

/// What others have allocated may be something else on a member.
TEST(GroupErrors, RefuseBuffersThatNotAllMembersHave) {
  const auto failures = failures_of(3, [](Context& context) {
    const int rank = context.rank();
    void* of_all = context.allocate(256);
    Group pair = context.group(rank < 2 ? std::vector{0, 1} : std::vector{2});
    void* of_pair = pair.allocate(256);
    if (rank == 0) return;
    Group other = context.group({1, 2});
    Operation sum(other, host_operation("sum_of_two", 2), extents);
    EXPECT_EQ(error_of([&] { sum.launch({of_all, of_all}, extents); }), "");
    other.barrier();
    if (rank == 1) sum.launch({of_pair, of_all}, extents);
  });
  EXPECT_EQ(failures[1],
            "sum_of_two in group {1, 2}: a buffer was allocated, or adopted, by a group that has not all ranks of "
            "group {1, 2}, for "
            "which other things may lie there; allocate it with this group, or with one that has them all");
}

}  // namespace
}  // namespace iris::group_errors_test
