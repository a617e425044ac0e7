#include "iris/device/launch.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "tests/device/fake_engine.hpp"

namespace iris::device::launch_test {
namespace {

struct Config {};  // a launch asks nothing of it

class LaunchScope : public testing::Test {
 protected:
  FakeEngine engine;
  FakeHeaps heaps{2, 2};
  Context context = heaps.context(0);
};

TEST_F(LaunchScope, CountsItselfOncePerBlockHoweverItEnds) {
  const auto returns_early = [&] {
    const Launch<Config> launch(context);
    return;
  };
  engine.run(1, 0, returns_early);
  engine.run(1, 1, [&] { const Launch<Config> launch(context); });  // thread 1 only waits for the others
  engine.run(1, 0, returns_early);
  EXPECT_EQ(context.launches[1].completed, 2u);
  EXPECT_EQ(context.launches[0].completed, 0u);
  EXPECT_EQ(engine.syncs, 3);  // every thread has read the number before it changes
}

TEST_F(LaunchScope, ThatFollowsTheLastIsNotToldToOverlap) {
  for (int i = 0; i < 3; ++i) engine.run(0, 0, [&] { const Launch<Config> launch(context); });
  EXPECT_EQ(heaps.fault.overlapped, 0u);
}

TEST_F(LaunchScope, ThatBeginsInTheCourseOfAnotherTellsSo) {
  engine.run(0, 0, [&] {
    const Launch<Config> launch(context);
    {
      const Launch<Config> other(context);
    }
  });
  EXPECT_EQ(heaps.fault.overlapped, 1u);
  EXPECT_EQ(heaps.fault.complete, 0u) << "no wait ran out of time";
}

TEST_F(LaunchScope, ThatFollowsTwoWhichBeganAtTheSameTimeTellsSo) {
  std::optional<Launch<Config>> first;
  std::optional<Launch<Config>> second;
  engine.run(0, 0, [&] {
    first.emplace(context);
    context.launches[0].begun = 0;  // as the other sees it, though both count
    second.emplace(context);
    context.launches[0].begun = 2;
    first.reset();
    second.reset();
  });
  EXPECT_EQ(heaps.fault.overlapped, 0u);
  engine.run(0, 0, [&] { const Launch<Config> launch(context); });
  EXPECT_EQ(heaps.fault.overlapped, 1u);
}

TEST_F(LaunchScope, EveryFlagValueIsMoreThanAnyOfTheLaunchBefore) {
  u64 last = 0;
  for (int i = 0; i < 3; ++i) {
    engine.run(0, 0, [&] {
      const Launch<Config> launch(context);
      EXPECT_GT(launch.flag_value(0), last);
      EXPECT_GT(launch.flag_value(1), launch.flag_value(0));
      last = launch.flag_value((1u << flag_step_bits) - 1);
    });
  }
}

TEST_F(LaunchScope, AlternatesBetweenThePingPongBuffers) {
  for (int i = 0; i < 4; ++i) {
    engine.run(0, 0, [&] {
      const Launch<Config> launch(context);
      EXPECT_EQ(launch.workspace<char>(), context.workspace + i % 2 * 256);
    });
  }
}

}  // namespace
}  // namespace iris::device::launch_test
