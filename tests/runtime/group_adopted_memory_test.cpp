// Memory that somebody else allocated, in groups of ranks that are threads, on the CPU.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>

#include "adopted_sums.hpp"
#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"

namespace iris::group_adopted_memory_test {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;
using test::of_n;
using test::adopted::expect_sums;
using test::adopted::fill;
using test::adopted::n;
using test::adopted::Own;

TEST(AdoptedMemory, IsThatOfAGroupsMembersAlone) {
  World world({.size = 4, .heap_bytes = 1 << 20});
  std::array<char*, 4> begins{};
  world.run([&](Context& context) {
    const int rank = context.rank();
    Own own(context);
    begins.at(static_cast<std::size_t>(rank)) = own.begin;
    context.barrier();
    if (rank == 0 || rank == 2) return;
    Group pair = context.group({3, 1});
    Group same = context.group({1, 3});
    pair.as_symmetric(own.begin, 2048);
    EXPECT_EQ(pair.on_rank(own.begin + 7, 0), begins[3] + 7);
    EXPECT_EQ(pair.on_rank(own.begin + 7, 1), begins[1] + 7);
    EXPECT_EQ(same.on_rank(own.begin + 7, 0), begins[1] + 7);
    EXPECT_EQ(context.on_rank(own.begin + 7, 3), begins[3] + 7);
    expect_part(error_of([&] { context.on_rank(own.begin, 2); }), "on rank 2, which has not adopted it");

    for (Group* group : {&pair, &same}) {  // whose first rank is another
      Operation sum(*group, host_operation("sum_of_two", 2), of_n(n));
      fill(context, own.at(0));
      group->barrier();
      sum.launch({own.at(0), own.at(1024)}, of_n(n));
      group->barrier();
      for (int i = 0; i < n; ++i) ASSERT_EQ(own.at(1024)[i], (2 + 4) * i * i) << i;
    }
    pair.release_symmetric(own.begin);
    EXPECT_FALSE(context.is_symmetric(own.begin, 1));
    pair.barrier();
  });
}

/// Each rank counts its adoptions, and all members agree on a number that none has used.
TEST(AdoptedMemory, OfGroupsThatOverlapIsToldApart) {
  World world({.size = 3, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    const int rank = context.rank();
    Own first(context);
    Own second(context);
    if (rank < 2) context.group({0, 1}).as_symmetric(first.begin, 1024);
    Group all = context.group({0, 1, 2});
    Operation sum(all, host_operation("sum_of_three", 3), of_n(n));
    all.as_symmetric(second.begin, 2048);
    fill(context, second.at(0));
    context.barrier();
    sum.launch({second.at(0), second.at(1024)}, of_n(n));
    context.barrier();
    expect_sums(second.at(1024));
    if (rank < 2) {
      expect_part(error_of([&] { sum.launch({first.at(0), second.at(1024)}, of_n(n)); }),
                  "adopted, by a group that has not all ranks of group {0, 1, 2}");
    }
    context.barrier();
  });
}

TEST(AdoptedMemory, IsReleasedByTheGroupThatAdoptedIt) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    Own own(context);
    Group alone = context.group({context.rank()});
    alone.as_symmetric(own.begin, 512);
    expect_part(error_of([&] { context.release_symmetric(own.begin); }), "that as_symmetric() did not adopt");
    alone.release_symmetric(own.begin);
    expect_part(error_of([&] { alone.release_symmetric(own.begin); }),
                "that as_symmetric() in group {" + std::to_string(context.rank()) + "} did not adopt");
    context.as_symmetric(own.begin, 512);
    context.release_symmetric(own.begin);
  });
}

}  // namespace
}  // namespace iris::group_adopted_memory_test
