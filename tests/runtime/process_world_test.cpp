// Worlds whose ranks are processes, on the CPU.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "processes.hpp"

namespace iris {
namespace {

using test::error_of;
using test::host_operation;
using test::ProcessOutcome;
using test::run_ranks;

World join(std::size_t heap_bytes = 1 << 20) {
  return World::join({.heap_bytes = heap_bytes});
}

void expect_all_say(const std::vector<ProcessOutcome>& outcomes, const std::string& words) {
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, words);
}

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

}  // namespace
}  // namespace iris
