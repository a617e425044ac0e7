#include "iris/device/reduce.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace iris::device::reduce_test {
namespace {

TEST(Operations, AreWhatTheirNamesSay) {
  EXPECT_EQ(Sum::apply(1.5f, 2.25f), 3.75f);
  EXPECT_EQ(Prod::apply(1.5, 2.0), 3.0);
  EXPECT_EQ(Max::apply(-3, 4), 4);
  EXPECT_EQ(Max::apply(5.0f, 4.0f), 5.0f);
  EXPECT_EQ(Min::apply(-3, 4), -3);
  EXPECT_EQ(Min::apply(5.0, 4.0), 4.0);
}

TEST(Operations, WrapAroundInI32) {
  EXPECT_EQ(Sum::apply(2147483647, 1), -2147483647 - 1);
  EXPECT_EQ(Prod::apply(65536, 65537), 65536);
}

TEST(Operations, PassNansOn) {
  const f32 nan = std::nanf("");
  for (const f32 other : {1.0f, -INFINITY}) {
    EXPECT_TRUE(std::isnan(Max::apply(nan, other)));
    EXPECT_TRUE(std::isnan(Max::apply(other, nan)));
    EXPECT_TRUE(std::isnan(Min::apply(nan, other)));
    EXPECT_TRUE(std::isnan(Min::apply(other, nan)));
  }
}

struct InF32 {
  static constexpr i32 world = 3;
  using Element = f32;
  using Result = f32;
  using Accumulate = f32;
};
struct HalvesInF32 {
  static constexpr i32 world = 3;
  using Element = f16;
  using Result = f16;
  using Accumulate = f32;
};

TEST(LoadAndReduce, GoesInTheOrderOfRanks) {
  // In any other order the small one is not lost.
  alignas(16) const f32 rank_0[4] = {1e8f, 1, 2, 3};
  alignas(16) const f32 rank_1[4] = {1, 10, 20, 30};
  alignas(16) const f32 rank_2[4] = {-1e8f, 100, 200, 300};
  const f32* const sources[3] = {rank_0, rank_1, rank_2};
  const auto sums = load_and_reduce<InF32, Sum>(sources, PackIndex<4, 1>{0, 0});
  EXPECT_EQ(sums.packs[0][0], 0.0f);
  EXPECT_EQ(sums.packs[0][1], 111.0f);
  EXPECT_EQ(sums.packs[0][2], 222.0f);
  EXPECT_EQ(sums.packs[0][3], 333.0f);
}

TEST(LoadAndReduce, StaysInTheAccumulator) {
  // 2048 + 1 rounds to 2048 in f16; in f32 the two ones survive.
  const f16 values[3] = {convert<f16>(2048.0f), convert<f16>(1.0f), convert<f16>(0.5f)};
  const f16* const sources[3] = {&values[0], &values[1], &values[2]};
  const auto sums = load_and_reduce<HalvesInF32, Sum>(sources, PackIndex<1, 1>{0, 0});
  EXPECT_EQ(sums.packs[0][0], 2049.5f);
}

struct Squares : InF32 {
  struct Prologue {
    static f32 apply(f32 value) { return value * value; }
  };
};

TEST(LoadAndReduce, CallsThePrologueOnceForEachElement) {
  const f32 values[3] = {2, -3, 5};
  const f32* const sources[3] = {&values[0], &values[1], &values[2]};
  const auto sums = load_and_reduce<Squares, Sum>(sources, PackIndex<1, 1>{0, 0});
  EXPECT_EQ(sums.packs[0][0], 38.0f);
  EXPECT_EQ(contributions<Squares>(Packs<f32, 2, 1>{{{{4, -1}}}}).packs[0][0], 16.0f);
}

TEST(Combine, AppliesTheFirstToTheSecond) {
  Packs<f32, 2, 2> a = {{{{1, 2}}, {{3, 4}}}};
  const Packs<f32, 2, 2> b = {{{{0.5f, 5}}, {{-3, 8}}}};
  a = combine<Max>(a, b);
  EXPECT_EQ(a.packs[0][0], 1.0f);
  EXPECT_EQ(a.packs[0][1], 5.0f);
  EXPECT_EQ(a.packs[1][0], 3.0f);
  EXPECT_EQ(a.packs[1][1], 8.0f);
}

}  // namespace
}  // namespace iris::device::reduce_test
