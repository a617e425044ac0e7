#include "iris/device/barrier.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/device/fake_engine.hpp"

namespace iris::device::barrier_test {
namespace {

struct Config {
  static constexpr i32 world = 3;
  static constexpr i32 threads = 1;
};

class SameBlockBarrier : public testing::Test {
 protected:
  FakeEngine engine;
  FakeHeaps heaps{3, 2};
  Context context = heaps.context(1);
};

TEST_F(SameBlockBarrier, TellsAllPeersAndWaitsForAll) {
  std::vector<i32> waited_for;
  engine.on_wait = [&](const u64* flag, u64 at_least, i32 peer, Wait) {
    waited_for.push_back(peer);
    EXPECT_EQ(flag, heaps.flags(1) + barrier_flag<Config>(1, peer));
    heaps.flags(1)[flag - heaps.flags(1)] = at_least;
  };
  engine.run(1, 0, [&] {
    Launch<Config> launch(context);
    EXPECT_TRUE(same_block_barrier(launch, Wait::entry));
    for (const i32 peer : {0, 2}) EXPECT_EQ(heaps.flags(peer)[barrier_flag<Config>(1, 1)], launch.flag_value(0));
  });
  EXPECT_EQ(waited_for, (std::vector<i32>{2, 0}));
}

TEST_F(SameBlockBarrier, TheNextOneIsAnotherStep) {
  std::vector<u64> waited_for;
  engine.on_wait = [&](const u64* flag, u64 at_least, i32 peer, Wait) {
    if (peer == 2) waited_for.push_back(at_least);
    heaps.flags(1)[flag - heaps.flags(1)] = at_least;
  };
  engine.run(0, 0, [&] {
    Launch<Config> launch(context);
    EXPECT_TRUE(same_block_barrier(launch, Wait::entry));
    EXPECT_TRUE(same_block_barrier(launch, Wait::exit));
    EXPECT_EQ(waited_for, (std::vector<u64>{launch.flag_value(0), launch.flag_value(1)}));
  });
}

TEST_F(SameBlockBarrier, FailsIfOnePeerIsMissing) {
  engine.on_wait = [&](const u64* flag, u64 at_least, i32 peer, Wait) {
    if (peer == 0) heaps.flags(1)[flag - heaps.flags(1)] = at_least;
  };
  engine.run(1, 0, [&] {
    Launch<Config> launch(context);
    EXPECT_FALSE(same_block_barrier(launch, Wait::exit));
  });
  EXPECT_EQ(heaps.fault.peer, 2);
}

}  // namespace
}  // namespace iris::device::barrier_test
