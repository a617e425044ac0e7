#include <iris/device/context.hpp>

#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device {
namespace {

TEST(OnRank, IsTheSameOffsetOfAnotherHeap) {
  FakeHeaps heaps(3);
  const Context context = heaps.context(1);
  for (i32 peer = 0; peer < 3; ++peer) {
    EXPECT_EQ(on_rank(context, heaps.object<f32>(1, 5), peer), heaps.object<f32>(peer, 5));
  }
}

TEST(RankAfter, GoesRoundInACircle) {
  FakeHeaps heaps(3);
  EXPECT_EQ(rank_after<3>(heaps.context(1), 0), 1);
  EXPECT_EQ(rank_after<3>(heaps.context(1), 1), 2);
  EXPECT_EQ(rank_after<3>(heaps.context(1), 2), 0);
  EXPECT_EQ(rank_after<3>(heaps.context(2), 3), 2);
}

TEST(Launch, CountsItselfAndItsStepsOncePerBlock) {
  FakeEngine engine;
  FakeHeaps heaps(2, 2);
  const Context context = heaps.context(0);
  engine.run(1, 0, [&] { end_launch(context, begin_launch(context), 5); });
  engine.run(1, 1, [&] { end_launch(context, begin_launch(context), 5); });  // not its business
  engine.run(1, 0, [&] { end_launch(context, begin_launch(context), 2); });
  EXPECT_EQ(context.epochs[1].launch, 2u);
  EXPECT_EQ(context.epochs[1].step, 7u);
  EXPECT_EQ(context.epochs[0].launch, 0u);
  EXPECT_EQ(engine.syncs, 3);
}

TEST(Workspace, AlternatesBetweenItsHalves) {
  FakeHeaps heaps(1);
  const Context context = heaps.context(0);
  EXPECT_EQ(workspace_half<char>(context, {.launch = 4, .step = 9}), context.workspace);
  EXPECT_EQ(workspace_half<char>(context, {.launch = 5, .step = 9}), context.workspace + 256);
}

}  // namespace
}  // namespace iris::device
