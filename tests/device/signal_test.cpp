#include "iris/device/signal.hpp"

#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device::signal_test {
namespace {

struct Config {
  static constexpr i32 world = 3;
  static constexpr i32 blocks = 2;
  static constexpr i32 threads = 1;
};

TEST(Reached, ComparesAcrossTheWrapAround) {
  EXPECT_TRUE(reached(5, 5));
  EXPECT_TRUE(reached(6, 5));
  EXPECT_FALSE(reached(4, 5));
  EXPECT_TRUE(reached(1, 0xfffffffffffffffe));
  EXPECT_FALSE(reached(0xfffffffffffffffe, 1));
}

/// The flag comes to 7 at the poll number `arrives_at`; each reading of the clock is 100 ns later.
struct ScriptedPoll {
  static inline u32 polls = 0;
  static inline u32 arrives_at = 0;
  static inline u64 clock = 0;
  static inline int clock_reads = 0;
  static inline int acquires = 0;
  static u64 load(const u64*) { return ++polls >= arrives_at ? 7 : 6; }
  static void acquire() { ++acquires; }
  static u64 nanoseconds() {
    ++clock_reads;
    return clock += 100;
  }
  static void pause() {}
  static u64 run(u32 arrival, u64 timeout_ns) {
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

/// What a flag shows at a step of the first launch.
constexpr u64 at_step(u64 step) {
  return (u64{1} << flag_step_bits) | step;
}

class Signal : public testing::Test {
 protected:
  /// As thread `thread` of block `block` of a rank, in its first launch.
  template <typename Body>
  void run(i32 rank, u32 block, u32 thread, const Body& body) {
    const Context context = heaps.context(rank);
    engine.run(block, thread, [&] {
      const Launch<Config> launch(context);
      body(launch);
      context.launches[block] = {};
    });
    context.launches[block] = {};
  }

  FakeEngine engine;
  FakeHeaps heaps{3, 2};
};

TEST_F(Signal, OwnFlagsComeAfterThoseOfTheBarriers) {
  EXPECT_EQ(own_flag<Config>(0), 6);
  EXPECT_EQ(own_flag<Config>(5), 11);
}

TEST_F(Signal, WritesThePeersFlagOnly) {
  run(1, 0, 0, [&](const auto& launch) { signal_release(launch, 4, 9, 2); });
  EXPECT_EQ(heaps.flags(2)[4], at_step(9));
  EXPECT_EQ(heaps.flags(2)[3], 0u);
  EXPECT_EQ(heaps.flags(1)[4], 0u);
}

TEST_F(Signal, WaitReturnsWhenTheFlagIsThere) {
  engine.on_wait = [&](const u64* flag, u64 at_least, i32 peer, Wait what) {
    EXPECT_EQ(flag, heaps.flags(1) + 4);
    EXPECT_EQ(at_least, at_step(9));
    EXPECT_EQ(peer, 2);
    EXPECT_EQ(what, Wait::step);
    heaps.flags(1)[4] = at_step(10);
  };
  run(1, 0, 0, [&](const auto& launch) { EXPECT_TRUE(wait_acquire(launch, 4, 9, 2, Wait::step)); });
  EXPECT_EQ(heaps.fault.raised, 0u);
}

TEST_F(Signal, WaitInVainRecordsWhoWaitedForWhom) {
  heaps.flags(1)[4] = at_step(8);
  run(1, 1, 0, [&](const auto& launch) { EXPECT_FALSE(wait_acquire(launch, 4, 9, 2, Wait::step)); });
  EXPECT_EQ(heaps.fault.raised, 1u);
  EXPECT_EQ(heaps.fault.complete, 1u);
  EXPECT_EQ(heaps.fault.rank, 1);
  EXPECT_EQ(heaps.fault.block, 1);
  EXPECT_EQ(heaps.fault.peer, 2);
  EXPECT_EQ(heaps.fault.wait, Wait::step);
  EXPECT_EQ(heaps.fault.expected, at_step(9));
  EXPECT_EQ(heaps.fault.seen, at_step(8));
}

TEST_F(Signal, ALaterStepOfTheLaunchBeforeIsNotEnough) {
  const Context context = heaps.context(1);
  context.launches[0] = {1, 1};  // this is the second launch
  heaps.flags(1)[4] = at_step(100);
  engine.run(0, 0, [&] {
    const Launch<Config> launch(context);
    EXPECT_FALSE(wait_acquire(launch, 4, 0, 2, Wait::step));
  });
}

TEST_F(Signal, TheFirstFaultStays) {
  run(1, 0, 0, [&](const auto& launch) { wait_acquire(launch, 4, 9, 2, Wait::step); });
  run(0, 0, 0, [&](const auto& launch) { wait_acquire(launch, 5, 3, 1, Wait::exit); });
  EXPECT_EQ(heaps.fault.rank, 1);
  EXPECT_EQ(heaps.fault.expected, at_step(9));
}

TEST_F(Signal, HasComeLooksOnceAndRaisesNothing) {
  run(0, 0, 0, [&](const auto& launch) {
    EXPECT_FALSE(has_come(launch, 5, 3));
    heaps.flags(0)[5] = at_step(2);
    EXPECT_FALSE(has_come(launch, 5, 3));
    heaps.flags(0)[5] = at_step(3);
    EXPECT_TRUE(has_come(launch, 5, 3));
  });
  EXPECT_EQ(heaps.fault.raised, 0u);
}

TEST_F(Signal, BlockWaitAsksThreadZeroOnly) {
  run(0, 0, 3, [&](const auto& launch) { EXPECT_TRUE(block_wait_acquire(launch, 4, 9, 2, Wait::step)); });
  run(0, 0, 0, [&](const auto& launch) { EXPECT_FALSE(block_wait_acquire(launch, 4, 9, 2, Wait::step)); });
}

TEST_F(Signal, BlockSignalComesFromThreadZeroAfterASync) {
  run(0, 0, 3, [&](const auto& launch) {
    block_signal_release(launch, 4, 9, 2);
    EXPECT_EQ(engine.syncs, 1);
  });
  EXPECT_EQ(heaps.flags(2)[4], 0u);
  run(0, 0, 0, [&](const auto& launch) { block_signal_release(launch, 4, 9, 2); });
  EXPECT_EQ(heaps.flags(2)[4], at_step(9));
}

TEST_F(Signal, BlockSignalToAllReachesEveryPeer) {
  run(1, 0, 0, [&](const auto& launch) { block_signal_release_all(launch, 7, 2); });
  for (const i32 peer : {0, 2}) EXPECT_EQ(heaps.flags(peer)[7], at_step(2));
  EXPECT_EQ(heaps.flags(1)[7], 0u);
}

}  // namespace
}  // namespace iris::device::signal_test
