// Ranks, their meetings and their symmetric heap, on the CPU.

#include "iris/world.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "disagreement.hpp"
#include "host_kernels.hpp"
#include "sanitizers.hpp"

namespace iris::world_test {
namespace {

using test::error_of;

/// The words in which each rank's body fails; the first is what World::run throws.
struct Failures {
  std::string of_run;
  std::vector<std::string> of_ranks;
};

template <typename Body>
Failures failures_of(World& world, Body body) {
  Failures failures;
  failures.of_ranks.resize(static_cast<std::size_t>(world.size()));
  failures.of_run = error_of([&] {
    world.run([&](Context& context) {
      try {
        body(context);
      } catch (const std::exception& error) {
        failures.of_ranks[static_cast<std::size_t>(context.rank())] = error.what();
        throw;
      }
    });
  });
  return failures;
}

TEST(World, OfNoOptionsIsOneRankOnTheCpu) {
  const World alone({});
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.target(), "host");
}

TEST(World, RunsEveryRankOnceAndAtTheSameTime) {
  World world({.size = 5, .heap_bytes = 4096});
  std::array<std::atomic<int>, 5> calls{};
  world.run([&](Context& context) {
    EXPECT_EQ(context.num_ranks(), 5);
    ++calls.at(static_cast<std::size_t>(context.rank()));
    context.barrier();
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  });
}

TEST(World, RefusesSizesThatNoContextCanAddress) {
  EXPECT_NE(error_of([] { const World world({.size = 17}); }).find("1 to 16 ranks, not 17"), std::string::npos);
  EXPECT_NE(error_of([] { const World world({.size = 0}); }).find("1 to 16 ranks, not 0"), std::string::npos);
}

TEST(World, NamesATargetThatThisMachineDoesNotHave) {
  const std::string error = error_of([] { const World world({.target = "gfx803"}); });
  EXPECT_NE(error.find("gfx803"), std::string::npos) << error;
  EXPECT_NE(error.find("GPU"), std::string::npos) << error;
}

TEST(World, GivesTheSameOffsetsOnEveryRankAndReusesMemory) {
  World world({.size = 3, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    for (int round = 0; round < 50; ++round) {
      void* first = context.allocate(1000);
      void* second = context.allocate(3000);
      for (void* memory : {first, second}) {
        const auto offset = static_cast<char*>(memory) - context.heap_bases()[static_cast<std::size_t>(context.rank())];
        EXPECT_EQ(offset % 256, 0);
        EXPECT_EQ(offset, memory == first ? 0 : 1024);
      }
      context.free(first);
      context.free(second);
    }
  });
}

TEST(World, LetsRanksReachOneAnothersMemory) {
  World world({.size = 4, .heap_bytes = 4096});
  world.run([](Context& context) {
    auto* mine = static_cast<int*>(context.allocate(16 * sizeof(int)));
    for (int i = 0; i < 16; ++i) mine[i] = 100 * context.rank() + i * i;
    context.barrier();
    for (int rank = 0; rank < 4; ++rank) {
      const int* theirs = static_cast<int*>(context.on_rank(mine, rank));
      for (int i = 0; i < 16; ++i) EXPECT_EQ(theirs[i], 100 * rank + i * i);
    }
    context.barrier();
  });
}

TEST(World, KnowsWhatLiesOnTheHeap) {
  World world({.size = 2, .heap_bytes = 4096});
  world.run([](Context& context) {
    auto* memory = static_cast<char*>(context.allocate(4096));
    EXPECT_TRUE(context.is_symmetric(memory, 4096));
    EXPECT_FALSE(context.is_symmetric(memory, 4097));
    EXPECT_TRUE(context.is_symmetric(memory + 4095, 1));
    EXPECT_FALSE(context.is_symmetric(memory + 4095, 2));
    EXPECT_TRUE(context.is_symmetric(memory + 100, 0));
    int elsewhere = 0;
    EXPECT_FALSE(context.is_symmetric(&elsewhere, sizeof elsewhere));
    EXPECT_FALSE(context.is_symmetric(&elsewhere, 0));
    EXPECT_FALSE(context.is_symmetric(nullptr, 0));
    EXPECT_NE(error_of([&] { context.on_rank(&elsewhere, 1); }).find("not on the symmetric heap"), std::string::npos);
    EXPECT_NE(error_of([&] { context.on_rank(memory, 2); }).find("no rank 2"), std::string::npos);
    EXPECT_NE(error_of([&] { context.free(memory + 256); }).find("did not return"), std::string::npos);
  });
}

TEST(World, TellsEveryRankWhoAskedForWhat) {
  World world({.size = 4, .heap_bytes = 1 << 16});
  const Failures failures =
      failures_of(world, [](Context& context) { context.allocate(context.rank() == 2 ? 512 : 256); });
  for (const std::string& failure : failures.of_ranks) {
    EXPECT_NE(failure.find("ranks 0, 1, 3: allocate(256 bytes); rank 2: allocate(512 bytes)"), std::string::npos)
        << failure;
  }
  EXPECT_EQ(failures.of_run, "rank 0: " + failures.of_ranks[0]);
}

TEST(World, TellsBothRanksWhateverTwoCallsTheyMake) {
  World world({.size = 2, .heap_bytes = 1 << 20});
  world.run([](Context& context) { EXPECT_EQ(test::disagree_in_every_call(context), ""); });
}

TEST(World, TellsEveryRankWhoseCallsAreOutOfOrder) {
  World world({.size = 3, .heap_bytes = 1 << 16});
  const Failures failures = failures_of(world, [](Context& context) {
    if (context.rank() == 1) context.barrier();
    context.allocate(64);
  });
  for (const std::string& failure : failures.of_ranks) {
    EXPECT_NE(failure.find("ranks 0, 2: allocate(64 bytes); rank 1: barrier()"), std::string::npos) << failure;
  }
}

TEST(World, TellsEveryRankWhoFreedSomethingElse) {
  World world({.size = 3, .heap_bytes = 1 << 16});
  const Failures failures = failures_of(world, [](Context& context) {
    void* first = context.allocate(1024);
    void* second = context.allocate(256);
    context.free(context.rank() == 1 ? second : first);
    context.allocate(128);
  });
  for (const std::string& failure : failures.of_ranks) {
    EXPECT_NE(
        failure.find("ranks 0, 2: holds 1 allocations of 256 bytes together; rank 1: holds 1 allocations of 1024"),
        std::string::npos)
        << failure;
  }
}

TEST(World, SaysHowFullTheHeapIs) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  const Failures failures = failures_of(world, [](Context& context) {
    context.allocate(1024);
    void* second = context.allocate(1024);
    context.allocate(1024);
    context.free(second);
    context.allocate(1536);
  });
  for (const std::string& failure : failures.of_ranks) {
    EXPECT_NE(failure.find("allocate(1536 bytes) does not fit on the symmetric heap: of 4096 bytes on each rank, 2048 "
                           "are free, 1024 of them in one block; raise WorldOptions::heap_limit"),
              std::string::npos)
        << failure;
  }
}

TEST(World, DoesNotLetRanksWaitForOneThatFailed) {
  World world({.size = 4, .heap_bytes = 4096});
  const Failures failures = failures_of(world, [](Context& context) {
    if (context.rank() == 3) throw std::runtime_error("the disk is on fire");
    context.barrier();
  });
  EXPECT_EQ(failures.of_run, "rank 3: the disk is on fire");
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(failures.of_ranks[rank], "barrier() cannot be done: rank 3 has failed: the disk is on fire");
  }
}

TEST(World, DoesNotLetRanksWaitForOneThatReturned) {
  World world({.size = 3, .heap_bytes = 4096});
  const Failures failures = failures_of(world, [](Context& context) {
    if (context.rank() != 1) context.allocate(16);
  });
  EXPECT_EQ(failures.of_ranks[0], "allocate(16 bytes) cannot be done: rank 1 has ended");
  EXPECT_EQ(failures.of_ranks[2], failures.of_ranks[0]);
}

TEST(World, RunsAgainAfterAFailure) {
  World world({.size = 3, .heap_bytes = 4096});
  for (int round = 0; round < 5; ++round) {
    EXPECT_THROW(world.run([](Context& context) {
      if (context.rank() == 0) throw std::logic_error("no");
      context.barrier();
    }),
                 std::runtime_error);
    std::atomic<int> met = 0;
    world.run([&](Context& context) {
      ++met;
      context.barrier();
      EXPECT_EQ(met, 3);
      context.barrier();
    });
  }
}

TEST(World, RefusesToRunWithinItself) {
  World world({.size = 1, .heap_bytes = 4096});
  world.run([&](Context&) { EXPECT_THROW(world.run([](Context&) {}), std::logic_error); });
}

TEST(World, HasNoRankOfTheProcessWhereRanksAreThreads) {
  World world({.size = 1, .heap_bytes = 4096});
  EXPECT_THROW(world.context(), std::logic_error);
  world.run([](Context& context) { context.barrier(); });
}

/// Meetings that follow one another closely, with a rank that leaves at a random point: nobody may hang, and every rank
/// must have completed the same meetings.
TEST(World, NeverHangsWhoeverLeavesWhenever) {
  World world({.size = 4, .heap_bytes = 4096});
  for (int round = 0; round < 200; ++round) {
    std::array<int, 4> completed{};
    const std::string failure = error_of([&] {
      world.run([&](Context& context) {
        int& mine = completed.at(static_cast<std::size_t>(context.rank()));
        for (; mine < 50; ++mine) {
          if (context.rank() == round % 4 && mine == round % 37) throw std::runtime_error("leaves");
          context.barrier();
        }
      });
    });
    EXPECT_EQ(failure, "rank " + std::to_string(round % 4) + ": leaves");
    for (const int count : completed) EXPECT_EQ(count, round % 37);
  }
}

#ifndef IRIS_ADDRESS_SANITIZER
/// Leaves this process no room for another thread's stack.
void leave_no_room() {
  const std::uint64_t left = std::uint64_t{1} << 20;
  rlimit limit = {};
  limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  limit.rlim_cur = pages * static_cast<std::uint64_t>(getpagesize()) + left;
  setrlimit(RLIMIT_AS, &limit);
}

TEST(WorldDeathTest, SaysThatNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        World world({.size = 2, .heap_bytes = 1 << 20});
        leave_no_room();
        try {
          world.run([](Context&) {});
        } catch (const std::runtime_error& error) {
          std::fputs(error.what(), stderr);
          _exit(3);
        }
        _exit(0);
      },
      testing::ExitedWithCode(3), "rank 0: cannot start a thread for it: .*ulimit -v");
}
#endif

}  // namespace
}  // namespace iris::world_test
