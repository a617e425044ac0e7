#include "iris/device/lock.hpp"

#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device::lock_test {
namespace {

struct Config {};  // a lock needs none of a kernel's constants

constexpr i64 lock_flag = 8;

/// What a flag shows at a step of the first launch.
constexpr u64 at_step(u64 step) {
  return (u64{1} << flag_step_bits) | step;
}

class Locks : public testing::Test {
 protected:
  /// As thread `thread` of a rank's first block, in its first launch.
  template <typename Body>
  void run(i32 rank, u32 thread, const Body& body) {
    const Context context = heaps.context(rank);
    engine.run(0, thread, [&] {
      const Launch<Config> launch(context);
      body(launch);
    });
    context.launches[0] = {};
  }
  void open(i32 rank) {
    run(rank, 0, [](const auto& launch) { open_lock(launch, lock_flag); });
  }

  u64& next(i32 rank) { return heaps.flags(rank)[lock_flag]; }
  u64& called(i32 rank) { return heaps.flags(rank)[lock_flag + 1]; }

  FakeEngine engine;
  FakeHeaps heaps{3, 2};
};

TEST_F(Locks, OpenAtTheFirstStepOfTheLaunch) {
  open(2);
  EXPECT_EQ(next(2), at_step(0));
  EXPECT_EQ(called(2), at_step(0));
  EXPECT_EQ(heaps.flags(2)[lock_flag + flags_of_lock], 0u);
  EXPECT_EQ(next(1), 0u);
}

TEST_F(Locks, AreOfTheRankThatIsNamed) {
  open(2);
  int waits = 0;
  engine.on_wait = [&](const u64* flag, u64 at_least, i32 peer, Wait what) {
    EXPECT_EQ(flag, &called(2));
    EXPECT_EQ(at_least, at_step(0));
    EXPECT_EQ(peer, 2);
    EXPECT_EQ(what, Wait::lock);
    ++waits;
  };
  run(1, 0, [&](const auto& launch) {
    BlockLock<Config> lock(launch, lock_flag, 2);
    EXPECT_TRUE(lock.acquire());
    EXPECT_EQ(waits, 1);
    EXPECT_EQ(next(2), at_step(1));
    EXPECT_EQ(called(2), at_step(0));
    lock.release();
    EXPECT_EQ(called(2), at_step(1));
  });
  EXPECT_EQ(next(1), 0u);
  EXPECT_EQ(called(1), 0u);
}

TEST_F(Locks, AreHeldInTheOrderOfComing) {
  open(2);
  run(0, 0, [&](const auto& of_first) {
    BlockLock<Config> first(of_first, lock_flag, 2);
    EXPECT_TRUE(first.acquire());
    run(1, 0, [&](const auto& of_second) {
      BlockLock<Config> second(of_second, lock_flag, 2);
      engine.on_wait = [&](const u64*, u64 at_least, i32, Wait) {
        EXPECT_EQ(at_least, at_step(1));
        first.release();
      };
      EXPECT_TRUE(second.acquire());
      second.release();
    });
  });
  EXPECT_EQ(called(2), at_step(2));
  EXPECT_EQ(next(2), at_step(2));
}

TEST_F(Locks, ThatNobodyGivesBackAreNamed) {
  open(2);
  next(2) = at_step(1);
  run(1, 0, [&](const auto& launch) {
    BlockLock<Config> lock(launch, lock_flag, 2);
    EXPECT_FALSE(lock.acquire());
  });
  EXPECT_EQ(heaps.fault.rank, 1);
  EXPECT_EQ(heaps.fault.peer, 2);
  EXPECT_EQ(heaps.fault.wait, Wait::lock);
  EXPECT_EQ(heaps.fault.expected, at_step(1));
  EXPECT_EQ(heaps.fault.seen, at_step(0));
}

TEST_F(Locks, AreTakenByThreadZeroForTheBlock) {
  open(2);
  run(1, 1, [&](const auto& launch) {
    BlockLock<Config> lock(launch, lock_flag, 2);
    engine.syncs = 0;
    EXPECT_TRUE(lock.acquire());
    EXPECT_EQ(engine.syncs, 1);
    lock.release();
    EXPECT_EQ(engine.syncs, 2);
  });
  EXPECT_EQ(next(2), at_step(0));
  EXPECT_EQ(called(2), at_step(0));
}

}  // namespace
}  // namespace iris::device::lock_test
