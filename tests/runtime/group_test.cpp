// Groups of ranks that are threads, on the CPU.

#include "iris/group.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "error_words.hpp"
#include "grid_of_ranks.hpp"
#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "sanitizers.hpp"
#include "sum_over_group.hpp"

namespace iris::group_test {
namespace {

using test::error_of;
using test::extents;
using test::host_operation;
using test::n;
using test::SumOverGroup;

TEST(Group, NumbersItsRanksInTheOrderGiven) {
  World world({.size = 4, .heap_bytes = 4096});
  world.run([](Context& context) {
    const bool is_member = context.rank() == 3 || context.rank() == 1;
    if (!is_member) return;
    Group group = context.group({3, 1});
    const int mine = context.rank() == 3 ? 0 : 1;
    EXPECT_EQ(group.rank(), mine);
    EXPECT_EQ(group.num_ranks(), 2);
    EXPECT_EQ(std::vector(group.ranks().begin(), group.ranks().end()), (std::vector{3, 1}));
    auto* value = static_cast<int*>(group.allocate(sizeof(int)));
    *value = 100 + context.rank();
    group.barrier();
    EXPECT_EQ(*static_cast<int*>(group.on_rank(value, 0)), 103);
    EXPECT_EQ(*static_cast<int*>(group.on_rank(value, 1)), 101);
    EXPECT_EQ(group.heap_bases()[0], context.heap_bases()[3]);
    EXPECT_EQ(error_of([&] { group.on_rank(value, 2); }), "there is no rank 2 in a group of 2");
    group.barrier();
  });
}

TEST(Group, AContextIsTheGroupOfAllRanks) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    Group& all = context;
    EXPECT_EQ(std::vector(all.ranks().begin(), all.ranks().end()), (std::vector{0, 1, 2}));
    SumOverGroup sum(all, "sum_of_three");
    sum.launch(0, context.rank());
    sum.expect_sum(0);
  });
}

TEST(Group, OfOneWorksAlone) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    if (context.rank() == 0) return;
    Group alone = context.group({1});
    auto* buffer = static_cast<std::int32_t*>(alone.allocate(n * 4));
    for (int i = 0; i < n; ++i) buffer[i] = 1000 - i;
    Operation operation(alone, host_operation("add_index", 1), extents);
    operation.launch({buffer, buffer}, extents);
    alone.barrier();
    for (int i = 0; i < n; ++i) EXPECT_EQ(buffer[i], 1000);
  });
}

TEST(Group, DisjointGroupsDoNotMeet) {
  for (std::uint64_t seed = 0; seed < test::orders(10); ++seed) {
    World world({.size = 4, .heap_bytes = 1 << 20, .seed = seed});
    world.run([](Context& context) {
      const bool first = context.rank() < 2;
      Group group = context.group(first ? std::vector{0, 1} : std::vector{2, 3});
      SumOverGroup sum(group, "sum_of_two");
      for (int round = 0; round < (first ? 5 : 12); ++round) {  // neither waits for the other
        sum.launch(round, context.rank());
        sum.expect_sum(round);
      }
    });
  }
}

/// Rank 2's operations of both run at the same time.
TEST(Group, OverlappingGroupsRunAtOnce) {
  for (std::uint64_t seed = 0; seed < test::orders(10); ++seed) {
    World world({.size = 4, .heap_bytes = 1 << 20, .seed = seed});
    world.run([](Context& context) {
      const int rank = context.rank();
      std::optional<Group> large;
      std::optional<Group> small;
      if (rank < 3) large = context.group({0, 1, 2});
      if (rank >= 2) small = context.group({2, 3});
      std::unique_ptr<SumOverGroup> of_three;
      std::unique_ptr<SumOverGroup> of_two;
      if (large) of_three = std::make_unique<SumOverGroup>(*large, "sum_of_three");
      if (small) of_two = std::make_unique<SumOverGroup>(*small, "sum_of_two");
      for (int round = 0; round < 10; ++round) {
        if (of_three) of_three->launch(round, rank);
        if (of_two) of_two->launch(round + 1000, rank);
        if (of_two) of_two->expect_sum(round + 1000);
        if (of_three) of_three->expect_sum(round);
      }
    });
  }
}

/// Ranks 0, 1 and 2, 3 are rows; 0, 2 and 1, 3 columns: tensor-parallel and data-parallel.
TEST(Group, RowsAndColumnsTakeTurns) {
  World world({.size = 4, .heap_bytes = 1 << 20, .seed = 3});
  world.run([](Context& context) {
    EXPECT_EQ(test::rows_and_columns(context, host_operation("sum_of_two", 2), test::gather_of_two(), 30), "");
  });
}

TEST(Group, GathersInTheOrderGiven) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([](Context& context) {
    if (context.rank() == 1) return;
    Group group = context.group({2, 0});
    Operation gather(group, test::gather_of_two(), extents);
    auto* input = static_cast<std::int32_t*>(group.allocate(n * 4));
    auto* output = static_cast<std::int32_t*>(group.allocate(2 * n * 4));
    for (int i = 0; i < n; ++i) input[i] = 1000 * context.rank() + i;
    gather.launch({input, output}, extents);
    group.barrier();
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(output[i], 2000 + i);
      EXPECT_EQ(output[n + i], i);
    }
  });
}

TEST(Group, ServesInLaterRunsAndMayOutliveItsWorld) {
  std::vector<std::optional<Group>> groups(3);
  {
    World world({.size = 3, .heap_bytes = 1 << 16});
    world.run([&](Context& context) {
      if (context.rank() != 1) groups[static_cast<std::size_t>(context.rank())] = context.group({0, 2});
    });
    for (int run = 0; run < 3; ++run) {
      world.run([&](Context& context) {
        auto& group = groups[static_cast<std::size_t>(context.rank())];
        if (!group) return;
        group->barrier();
        group->free(group->allocate(100));
      });
    }
  }
  groups[0].reset();
}

}  // namespace
}  // namespace iris::group_test
