#include "iris/device/rma.hpp"

#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device::rma_test {
namespace {

class Rma : public testing::Test {
 protected:
  Rma() {
    for (i32 rank = 0; rank < 2; ++rank) {
      for (int i = 0; i < 64; ++i) *heaps.object<f32>(rank, i) = value(rank, i);
    }
  }
  static f32 value(i32 rank, int i) { return static_cast<f32>(1000 * rank + 7 * i) + 0.5f; }

  FakeHeaps heaps{2};
  Context context = heaps.context(0);
  f32* mine = heaps.object<f32>(0);
  f32* theirs = heaps.object<f32>(1);
};

TEST_F(Rma, LoadReadsTheRankThatIsNamed) {
  EXPECT_EQ(load(context, mine + 3, 1), value(1, 3));
  EXPECT_EQ(load(context, mine + 3, 0), value(0, 3));
}

TEST_F(Rma, StoreWritesTheRankThatIsNamedOnly) {
  store(context, mine + 4, -2.0f, 1);
  EXPECT_EQ(theirs[4], -2.0f);
  EXPECT_EQ(theirs[3], value(1, 3));
  EXPECT_EQ(theirs[5], value(1, 5));
  EXPECT_EQ(mine[4], value(0, 4));
}

TEST_F(Rma, GetBringsFromTheOtherRank) {
  get(context, mine, mine + 32, 7, 1);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(mine[32 + i], value(1, i));
  EXPECT_EQ(mine[39], value(0, 39));
  EXPECT_EQ(theirs[32], value(1, 32));
}

TEST_F(Rma, PutTakesToTheOtherRank) {
  put<4>(context, mine, mine + 16, 8, 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(theirs[16 + i], value(0, i));
  EXPECT_EQ(theirs[24], value(1, 24));
  EXPECT_EQ(mine[16], value(0, 16));
}

TEST_F(Rma, CopyGoesEitherWay) {
  copy<2>(context, mine, mine + 32, 6, 1, 0);
  copy(context, mine, mine + 48, 3, 0, 1);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(mine[32 + i], value(1, i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(theirs[48 + i], value(0, i));
}

TEST_F(Rma, LoadsAndStoresThePacksAtAnIndex) {
  const PackIndex<4, 2> index = {8, 16};
  const auto values = load(theirs, index);
  store(mine, index, values);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(mine[8 + i], value(1, 8 + i));
    EXPECT_EQ(mine[24 + i], value(1, 24 + i));
    EXPECT_EQ(mine[12 + i], value(0, 12 + i));
    EXPECT_EQ(convert_packs<f64>(values).packs[1][i], value(1, 24 + i));
  }
}

}  // namespace
}  // namespace iris::device::rma_test
