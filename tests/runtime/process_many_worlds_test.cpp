// Many worlds of processes on the CPU: one after another, which leave nothing behind, and all at once.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "proc_self.hpp"
#include "processes.hpp"
#include "sanitizers.hpp"

namespace iris::process_many_worlds_test {
namespace {

using test::expect_all_say;
using test::host_operation;
using test::join;
using test::mappings;
using test::run_ranks;

std::size_t resident_bytes() {
  std::size_t mapped = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  return resident * static_cast<std::size_t>(::getpagesize());
}

constexpr std::size_t most_growth =
    test::with_sanitizers ? std::numeric_limits<std::size_t>::max() / 2 : std::size_t{8} << 20;

TEST(ProcessWorld, AThousandLeaveNothingBehind) {
  const auto outcomes = run_ranks(2, [](int) {
    std::size_t files = 0;
    std::size_t threads = 0;
    std::size_t maps = 0;
    std::size_t bytes = 0;
    constexpr int rounds = test::with_sanitizers ? 300 : 1000;  // what a process leaks they tell by other means
    for (int round = 0; round < rounds; ++round) {
      {
        World world = join(1 << 16);
        world.run([&](Context& context) {
          if (round % 10 == 0) Operation(context, host_operation("sum_of_three", 2), {{"n", 16}});
          context.group({1, 0}).barrier();
        });
      }
      if (round == 99) {  // what is made once is there
        files = test::open_files();
        threads = test::threads();
        maps = mappings();
        bytes = resident_bytes();
      }
    }
    // A leak leaves something for each round from there on, or each tenth; allocators take some, too.
    const bool mapped = mappings() >= maps + 60;
    const bool grown = resident_bytes() >= bytes + most_growth;
    return std::string(test::open_files() == files ? "" : "descriptors ") +
           (test::threads() == threads ? "" : "threads ") + (mapped ? "mappings " : "") + (grown ? "memory" : "");
  });
  expect_all_say(outcomes, "");
}

TEST(ProcessWorld, ManyWorldsAtOnceDoNotMeet) {
  constexpr int worlds = 50;
  test::Processes processes;
  std::vector<std::string> jobs;
  for (int world = 0; world < worlds; ++world) jobs.push_back(test::new_job());
  for (int number = 0; number < 2 * worlds; ++number) {
    processes.start(number, [&](int started) {
      test::become_rank(started % 2, 2, jobs.at(static_cast<std::size_t>(started / 2)));
      World world = join(1 << 16);
      int seen = -1;
      world.run([&](Context& context) {
        auto* mine = static_cast<int*>(context.allocate(4));
        *mine = started;
        context.barrier();
        seen = *static_cast<int*>(context.on_rank(mine, 1 - context.rank()));
        context.barrier();
      });
      return std::to_string(seen);
    });
  }
  const auto outcomes = processes.wait();
  for (int number = 0; number < 2 * worlds; ++number) {
    EXPECT_EQ(outcomes[static_cast<std::size_t>(number)].said, std::to_string(number ^ 1));
  }
}

}  // namespace
}  // namespace iris::process_many_worlds_test
