#include "iris/device/context.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/device/fake_engine.hpp"

namespace iris::device::context_test {
namespace {

TEST(OnRank, IsTheSameOffsetOfAnotherHeap) {
  FakeHeaps heaps(3);
  const Context context = heaps.context(1);
  for (i32 peer = 0; peer < 3; ++peer) {
    EXPECT_EQ(on_rank(context, heaps.object<f32>(1, 5), peer), heaps.object<f32>(peer, 5));
  }
}

/// Three ranks' adopted memories: no two windows, and no two ranks', lie at the same distance from one another.
struct Adopted {
  Adopted() {
    for (std::size_t window = 0; window < 2; ++window) {
      for (std::size_t rank = 0; rank < 3; ++rank)
        begins[window][rank] = memory.data() + 1000 * window + 300 * rank * rank;
    }
  }
  Context context(FakeHeaps& heaps, i32 rank) const {
    Context context = heaps.context(rank);
    context.windows = 2;
    for (std::size_t i = 0; i < 2; ++i) {
      context.bytes[i + 1] = 64;
      for (std::size_t peer = 0; peer < 3; ++peer) context.bases[i + 1][peer] = begins[i][peer];
    }
    return context;
  }

  std::array<char, 4096> memory{};
  std::array<std::array<char*, 3>, 2> begins{};
};

TEST(OnRank, IsTheSameOffsetOfTheWindowThatItLiesIn) {
  FakeHeaps heaps(3);
  const Adopted adopted;
  const Context context = adopted.context(heaps, 1);
  for (std::size_t window = 0; window < 2; ++window) {
    for (const i64 offset : {0, 17, 63}) {
      for (i32 peer = 0; peer < 3; ++peer) {
        char* const theirs = adopted.begins[window][static_cast<std::size_t>(peer)] + offset;
        EXPECT_EQ(on_rank(context, adopted.begins[window][1] + offset, peer), theirs) << window << " " << offset;
      }
    }
  }
}

TEST(OnRank, KnowsTheHeapBesideWindows) {
  FakeHeaps heaps(3);
  const Context context = Adopted().context(heaps, 2);
  EXPECT_EQ(on_rank(context, heaps.object<f32>(2, 5), 0), heaps.object<f32>(0, 5));
  EXPECT_EQ(heap_on_rank(context, heaps.object<f32>(2, 5), 1), heaps.object<f32>(1, 5));
}

TEST(OnRank, LooksIntoNoMoreWindowsThanTheLaunchHas) {
  FakeHeaps heaps(3);
  const Adopted adopted;
  Context context = adopted.context(heaps, 0);
  context.windows = 1;
  EXPECT_EQ(window_of(context, adopted.begins[0][0] + 63), 1);
  EXPECT_EQ(window_of(context, adopted.begins[0][0] + 64), 0);
  EXPECT_EQ(window_of(context, adopted.begins[1][0]), 0);
}

TEST(OnPeers, HasTheAdoptedObjectOfEachRankFromThisOneOn) {
  FakeHeaps heaps(3);
  const Adopted adopted;
  const auto peers = on_peers<3>(adopted.context(heaps, 1), adopted.begins[1][1] + 8);
  EXPECT_EQ(peers[0], adopted.begins[1][1] + 8);
  EXPECT_EQ(peers[1], adopted.begins[1][2] + 8);
  EXPECT_EQ(peers[2], adopted.begins[1][0] + 8);
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
  char* const mine = context.bases[0][1] + 24;
  const auto peers = on_peers<2>(context, mine);
  EXPECT_EQ(peers[0], context.bases[0][1] + 24);
  EXPECT_EQ(peers[1], context.bases[0][0] + 24);
}

}  // namespace
}  // namespace iris::device::context_test
