#include <iris/device/sync.hpp>

#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device {
namespace {

struct Config {
  static constexpr i32 world = 3;
  static constexpr i32 threads = 1;
};

TEST(Reached, ComparesAcrossTheWrapAround) {
  EXPECT_TRUE(reached(5, 5));
  EXPECT_TRUE(reached(6, 5));
  EXPECT_FALSE(reached(4, 5));
  EXPECT_TRUE(reached(1, 0xfffffffe));
  EXPECT_FALSE(reached(0xfffffffe, 1));
}

/// The flag comes to 7 at the poll number `arrives_at`; each reading of the clock is 100 ns later.
struct ScriptedPoll {
  static inline u32 polls = 0;
  static inline u32 arrives_at = 0;
  static inline u64 clock = 0;
  static inline int clock_reads = 0;
  static inline int acquires = 0;
  static u32 load(const u32*) { return ++polls >= arrives_at ? 7 : 6; }
  static void acquire() { ++acquires; }
  static u64 nanoseconds() {
    ++clock_reads;
    return clock += 100;
  }
  static void pause() {}
  static u32 run(u32 arrival, u64 timeout_ns) {
    polls = 0;
    clock = 0;
    clock_reads = 0;
    acquires = 0;
    arrives_at = arrival;
    return platform::poll_until<ScriptedPoll>(nullptr, 7, timeout_ns);
  }
};

TEST(PollUntil, ReturnsAtOnceWithoutReadingTheClock) {
  EXPECT_EQ(ScriptedPoll::run(1, 1000), 7u);
  EXPECT_EQ(ScriptedPoll::clock_reads, 0);
  EXPECT_EQ(ScriptedPoll::acquires, 1);
}

TEST(PollUntil, AcquiresOnceHoweverLongItPolled) {
  EXPECT_EQ(ScriptedPoll::run(1000, 1000), 7u);
  EXPECT_EQ(ScriptedPoll::polls, 1000u);
  EXPECT_EQ(ScriptedPoll::acquires, 1);
  EXPECT_EQ(ScriptedPoll::clock_reads, 3);
}

TEST(PollUntil, GivesUpAfterTheTimeout) {
  EXPECT_EQ(ScriptedPoll::run(~0u, 1000), 6u);
  EXPECT_EQ(ScriptedPoll::acquires, 0);
  EXPECT_EQ(ScriptedPoll::clock_reads, 12);  // the first starts the count, the 11th after it is beyond
}

class Sync : public testing::Test {
 protected:
  FakeEngine engine;
  FakeHeaps heaps{3, 2};
};

TEST_F(Sync, SignalWritesThePeersFlagOnly) {
  engine.run(0, 0, [&] { signal(heaps.context(1), 4, 9, 2); });
  EXPECT_EQ(heaps.flags(2)[4], 9u);
  EXPECT_EQ(heaps.flags(2)[3], 0u);
  EXPECT_EQ(heaps.flags(1)[4], 0u);
}

TEST_F(Sync, WaitReturnsWhenTheFlagIsThere) {
  engine.on_wait = [&](const u32* flag, u32 at_least, i32 peer, Wait what) {
    EXPECT_EQ(flag, heaps.flags(1) + 4);
    EXPECT_EQ(at_least, 9u);
    EXPECT_EQ(peer, 2);
    EXPECT_EQ(what, Wait::step);
    heaps.flags(1)[4] = 10;
  };
  engine.run(0, 0, [&] { EXPECT_TRUE(wait(heaps.context(1), 4, 9, 2, Wait::step)); });
  EXPECT_EQ(heaps.fault.raised, 0u);
}

TEST_F(Sync, WaitInVainRecordsWhoWaitedForWhom) {
  heaps.flags(1)[4] = 8;
  engine.run(1, 0, [&] { EXPECT_FALSE(wait(heaps.context(1), 4, 9, 2, Wait::step)); });
  EXPECT_EQ(heaps.fault.raised, 1u);
  EXPECT_EQ(heaps.fault.complete, 1u);
  EXPECT_EQ(heaps.fault.rank, 1);
  EXPECT_EQ(heaps.fault.block, 1);
  EXPECT_EQ(heaps.fault.peer, 2);
  EXPECT_EQ(heaps.fault.wait, Wait::step);
  EXPECT_EQ(heaps.fault.expected, 9u);
  EXPECT_EQ(heaps.fault.seen, 8u);
}

TEST_F(Sync, TheFirstFaultStays) {
  engine.run(0, 0, [&] {
    wait(heaps.context(1), 4, 9, 2, Wait::step);
    wait(heaps.context(0), 5, 3, 1, Wait::exit);
  });
  EXPECT_EQ(heaps.fault.rank, 1);
  EXPECT_EQ(heaps.fault.expected, 9u);
}

TEST_F(Sync, BlockWaitAsksThreadZeroOnly) {
  engine.run(0, 3, [&] { EXPECT_TRUE(block_wait(heaps.context(0), 4, 9, 2, Wait::step)); });
  engine.run(0, 0, [&] { EXPECT_FALSE(block_wait(heaps.context(0), 4, 9, 2, Wait::step)); });
}

TEST_F(Sync, BlockSignalComesFromThreadZeroAfterASync) {
  engine.run(0, 3, [&] { block_signal(heaps.context(0), 4, 9, 2); });
  EXPECT_EQ(heaps.flags(2)[4], 0u);
  engine.run(0, 0, [&] { block_signal(heaps.context(0), 4, 9, 2); });
  EXPECT_EQ(heaps.flags(2)[4], 9u);
  EXPECT_EQ(engine.syncs, 2);
}

TEST_F(Sync, BarrierTellsAllPeersAndWaitsForAll) {
  std::vector<i32> waited_for;
  engine.on_wait = [&](const u32* flag, u32 at_least, i32 peer, Wait) {
    waited_for.push_back(peer);
    EXPECT_EQ(flag, heaps.flags(1) + flag_of<Config>(1, peer));
    heaps.flags(1)[flag - heaps.flags(1)] = at_least;
  };
  engine.run(1, 0, [&] { EXPECT_TRUE(barrier<Config>(heaps.context(1), 6, Wait::entry)); });
  EXPECT_EQ(waited_for, (std::vector<i32>{2, 0}));
  for (const i32 peer : {0, 2}) EXPECT_EQ(heaps.flags(peer)[flag_of<Config>(1, 1)], 6u);
}

TEST_F(Sync, BarrierFailsIfOnePeerIsMissing) {
  engine.on_wait = [&](const u32* flag, u32 at_least, i32 peer, Wait) {
    if (peer == 0) heaps.flags(1)[flag - heaps.flags(1)] = at_least;
  };
  engine.run(1, 0, [&] { EXPECT_FALSE(barrier<Config>(heaps.context(1), 6, Wait::exit)); });
  EXPECT_EQ(heaps.fault.peer, 2);
}

}  // namespace
}  // namespace iris::device
