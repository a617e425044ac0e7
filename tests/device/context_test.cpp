#include "iris/device/context.hpp"

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

TEST(PeerAt, GoesRoundInACircle) {
  FakeHeaps heaps(3);
  EXPECT_EQ(peer_at<3>(heaps.context(1), 0), 1);
  EXPECT_EQ(peer_at<3>(heaps.context(1), 1), 2);
  EXPECT_EQ(peer_at<3>(heaps.context(1), 2), 0);
}

TEST(OnPeers, HasTheObjectOfEachRankFromThisOneOn) {
  FakeHeaps heaps(2);
  const Context context = heaps.context(1);
  char* const mine = context.heap[1] + 24;
  const auto peers = on_peers<2>(context, mine);
  EXPECT_EQ(peers[0], context.heap[1] + 24);
  EXPECT_EQ(peers[1], context.heap[0] + 24);
}

}  // namespace
}  // namespace iris::device
