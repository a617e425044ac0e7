#include "generator/plan/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/generator/samples.hpp"

/// What runs are compared with, on examples done by hand.
namespace irisgen::reference_test {
namespace {

std::vector<Expectation> expected(const std::string& pattern, const std::string& rest,
                                  const std::vector<std::vector<Values>>& inputs) {
  const Problem problem = spec_of({"{name: a, pattern: " + pattern + ", " + rest + "}"}).kernels.at(0).problem;
  return pattern_of(problem).reference(problem, inputs);
}

TEST(Reference, AllReduceSumsAndBoundsTheError) {
  const auto result =
      expected("all_reduce", "dtype: f32, world: 3, shape: {n: 2}", {{{1, -2}}, {{10, 20}}, {{100, 200}}});
  ASSERT_EQ(result.size(), 3u);
  for (const Expectation& each : result) {
    EXPECT_EQ(each.value, (Values{111, 218}));
    EXPECT_NEAR(each.tolerance[0], 2 * 0x1p-23 * 111 + 0x1p-24 * 111, 1e-9);
    EXPECT_NEAR(each.tolerance[1], 2 * 0x1p-23 * 222 + 0x1p-24 * 218, 1e-9);
  }
}

TEST(Reference, AllReduceOfOneRankIsExact) {
  const auto result = expected("all_reduce", "dtype: f64, world: 1, shape: {n: 1}", {{{0.1}}});
  EXPECT_EQ(result[0].value, Values{0.1});
  EXPECT_EQ(result[0].tolerance, Values{0});
}

TEST(Reference, AllReduceInI32WrapsAround) {
  const std::vector<std::vector<Values>> inputs = {{{2147483647, 65536}}, {{1, 65537}}};
  const auto sum = expected("all_reduce", "dtype: i32, world: 2, shape: {n: 2}", inputs);
  EXPECT_EQ(sum[0].value, (Values{-2147483648.0, 131073}));
  const auto product = expected("all_reduce", "dtype: i32, op: prod, world: 2, shape: {n: 2}", inputs);
  EXPECT_EQ(product[0].value, (Values{2147483647, 65536}));
  EXPECT_EQ(product[0].tolerance, (Values{0, 0}));
}

TEST(Reference, MaxAndMinAreExactAndPassNansOn) {
  const double nan = std::nan("");
  const std::vector<std::vector<Values>> inputs = {{{1, nan, -3}}, {{2, 5, -4}}, {{0, 7, nan}}};
  const auto result = expected("all_reduce", "dtype: f32, op: max, world: 3, shape: {n: 3}", inputs);
  EXPECT_EQ(result[0].value[0], 2);
  EXPECT_TRUE(std::isnan(result[0].value[1]));
  EXPECT_TRUE(std::isnan(result[0].value[2]));
  EXPECT_EQ(result[0].tolerance, (Values{0, 0, 0}));
}

TEST(Reference, APartialSumThatOverflowsMayStayInfinite) {
  const auto result =
      expected("all_reduce", "dtype: f32, world: 3, shape: {n: 2}", {{{3e38, 1e38}}, {{3e38, 1e38}}, {{-3e38, -1e38}}});
  EXPECT_EQ(result[0].tolerance[0], std::numeric_limits<double>::infinity());
  EXPECT_LT(result[0].tolerance[1], 1e33);
}

TEST(Reference, F16OverflowsToInfinity) {
  const auto result =
      expected("all_reduce", "dtype: f16, world: 2, shape: {n: 2}", {{{-40000, 40000}}, {{-40000, 20000}}});
  EXPECT_EQ(result[0].value[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(result[0].value[1], 60000);
  EXPECT_LT(result[0].tolerance[1], 33);
}

/// (1·3 + 2·4)·(0.5·4) + (1·5 + 1·6)·(1·1), B being (n,k).
TEST(Reference, ScalesProductsOf8BitFloats) {
  const auto result = expected("matmul_all_reduce", "dtype: e4m3, layout: {b: nk}, world: 2, shape: {m: 1, n: 1, k: 2}",
                               {{{1, 2}, {3, 4}, {0.5}, {4}}, {{1, 1}, {5, 6}, {1}, {1}}});
  EXPECT_EQ(result[0].value, (Values{33}));
  EXPECT_EQ(result[1].value, (Values{33}));
}

/// Of 1024 products of one, a 32nd part is missing: more than what adding with 14 bits explains.
TEST(Reference, MissesTermsOfProductsOf8BitFloats) {
  const Values ones(1024, 1);
  const auto result =
      expected("matmul", "dtype: e4m3, world: 1, shape: {m: 1, n: 1, k: 1024}", {{ones, ones, {1}, {1}}});
  EXPECT_EQ(result[0].value, (Values{1024}));
  EXPECT_LT(result[0].tolerance[0], 32);
  EXPECT_GT(result[0].tolerance[0], 1024.0 / 256 / 2);
}

/// 3·5 - 2·7: each operand is off by half a unit in the eleventh bit of its significand at most, which the sum of the
/// magnitudes, 29, counts in full, whatever cancels.
TEST(Reference, AllowsForTheRoundingOfOperandsToTf32) {
  const auto result = expected("matmul", "dtype: tf32, world: 1, shape: {m: 1, n: 1, k: 2}", {{{3, -2}, {5, 7}}});
  EXPECT_EQ(result[0].value, (Values{1}));
  EXPECT_GT(result[0].tolerance[0], 29 * 0x1p-10);
  EXPECT_LT(result[0].tolerance[0], 29.1 * 0x1p-10);
  // So it does for a product that others gather.
  const auto gathered = expected("matmul_all_gather", "dtype: tf32, world: 2, shape: {m: 2, n: 1, k: 2}",
                                 {{{3, -2}, {5, 7}}, {{1, 1}, {5, 7}}});
  EXPECT_EQ(gathered[1].value, (Values{1, 12}));
  EXPECT_GT(gathered[1].tolerance[0], 29 * 0x1p-10);
  // Cutting off instead of rounding goes beyond it: of 1 + 2^-11 + 2^-12 all but the one.
  const double value = 1 + 0x1p-11 + 0x1p-12;
  const auto one = expected("matmul", "dtype: tf32, world: 1, shape: {m: 1, n: 1, k: 1}", {{{value}, {value}}});
  EXPECT_GT(one[0].value[0] - 1, one[0].tolerance[0]);
}

TEST(Reference, AllGatherKeepsTheOrderOfRanks) {
  const auto result = expected("all_gather", "dtype: f32, world: 2, shape: {n: 2}", {{{1, 2}}, {{3, 4}}});
  EXPECT_EQ(result[1].value, (Values{1, 2, 3, 4}));
  EXPECT_EQ(result[1].tolerance, Values(4));
}

TEST(Reference, AllGatherByColumnsPutsShardsSideBySide) {
  const auto result =
      expected("all_gather", "dtype: f32, shard: n, world: 2, shape: {m: 2, n: 2}", {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}});
  EXPECT_EQ(result[0].value, (Values{1, 2, 5, 6, 3, 4, 7, 8}));
  EXPECT_EQ(result[1].value, result[0].value);
}

TEST(Reference, ReduceScatterGivesEachRankItsShard) {
  const auto result =
      expected("reduce_scatter", "dtype: f64, world: 2, shape: {m: 1, n: 2}", {{{1, 2, 3, 4}}, {{10, 20, 30, 40}}});
  EXPECT_EQ(result[0].value, (Values{11, 22}));
  EXPECT_EQ(result[1].value, (Values{33, 44}));
}

TEST(Reference, AllToAllExchangesShardsOfRows) {
  const auto result =
      expected("all_to_all", "dtype: f32, world: 2, shape: {m: 2, n: 1}", {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}});
  EXPECT_EQ(result[0].value, (Values{1, 5, 3, 7}));
  EXPECT_EQ(result[1].value, (Values{2, 6, 4, 8}));
}

TEST(Reference, BroadcastIsTheRoots) {
  EXPECT_EQ(expected("broadcast", "dtype: f32, world: 2, root: 1, shape: {n: 2}", {{{1, 2}}, {{3, 4}}})[0].value,
            (Values{3, 4}));
}

TEST(Reference, MatmulIsEachRanksOwn) {
  const std::vector<std::vector<Values>> inputs = {{{1, 2, 3, 4}, {10, 1}}, {{5, 6, 7, 8}, {1, -1}}};
  const auto result = expected("matmul", "dtype: f32, world: 2, shape: {m: 2, n: 1, k: 2}", inputs);
  EXPECT_EQ(result[0].value, (Values{12, 34}));
  EXPECT_EQ(result[1].value, (Values{-1, -1}));
}

TEST(Reference, MatmulAllReduceGivesTheSumToAll) {
  const std::vector<std::vector<Values>> inputs = {{{1, 2, 3, 4}, {10, 1}}, {{5, 6, 7, 8}, {1, -1}}};
  const auto result = expected("matmul_all_reduce", "dtype: f32, world: 2, shape: {m: 2, n: 1, k: 2}", inputs);
  for (const Expectation& each : result) EXPECT_EQ(each.value, (Values{11, 33}));
  EXPECT_GT(result[0].tolerance[0], 0);
  EXPECT_LT(result[0].tolerance[0], 1e-4);
}

TEST(Reference, MatmulAllGatherPutsProductsBelowOneAnother) {
  const std::vector<std::vector<Values>> inputs = {{{2}, {3, 4}}, {{5}, {6, 7}}};
  const auto result = expected("matmul_all_gather", "dtype: f32, world: 2, shape: {m: 2, n: 2, k: 1}", inputs);
  for (const Expectation& each : result) EXPECT_EQ(each.value, (Values{6, 8, 30, 35}));
  EXPECT_NEAR(result[0].tolerance[2], 2 * 0x1p-23 * 60 + 30 * 0x1p-24, 30 * 0x1p-23);
}

TEST(Reference, MatmulReadsBInItsLayout) {
  const std::vector<std::vector<Values>> inputs = {{{1, 2, 3}, {10, 20, 30, 40, 50, 60}}};  // (1,3) times (3,2)
  const std::string shape = "dtype: f32, world: 1, shape: {m: 1, n: 2, k: 3}";
  EXPECT_EQ(expected("matmul", shape, inputs)[0].value, (Values{220, 280}));
  EXPECT_EQ(expected("matmul", shape + ", layout: {b: nk}", inputs)[0].value, (Values{140, 320}));
}

TEST(Reference, MatmulAllGatherByColumnsPutsThemSideBySide) {
  const std::vector<std::vector<Values>> inputs = {{{2, 3}, {10}}, {{4, 5}, {100}}};
  const auto result =
      expected("matmul_all_gather", "dtype: f32, world: 2, shard: n, shape: {m: 2, n: 2, k: 1}", inputs);
  for (const Expectation& each : result) EXPECT_EQ(each.value, (Values{20, 400, 30, 500}));
}

TEST(Reference, AllGatherMatmulUsesEachRanksOwnB) {
  const std::vector<std::vector<Values>> inputs = {{{1, 2}, {1, 0, 0, 1}}, {{3, 4}, {1, 1, -1, 2}}};
  const auto result = expected("all_gather_matmul", "dtype: f32, world: 2, shape: {m: 2, n: 2, k: 2}", inputs);
  EXPECT_EQ(result[0].value, (Values{1, 2, 3, 4}));
  EXPECT_EQ(result[1].value, (Values{-1, 5, -1, 11}));
  EXPECT_NEAR(result[1].tolerance[0], 2 * 0x1p-23 * 3 + 0x1p-24, 1e-9);  // |1| + |1 - 2| + |-1|
}

TEST(Reference, AllGatherMatmulOfNoDepthIsZero) {
  EXPECT_EQ(expected("all_gather_matmul", "dtype: f32, world: 1, shape: {m: 1, n: 2, k: 0}", {{{}, {}}})[0].value,
            (Values{0, 0}));
}

TEST(Reference, MatmulReduceScatterSumsOverRanks) {
  const std::vector<std::vector<Values>> inputs = {{{1, 2, 3, 4}, {10, 1}}, {{5, 6, 7, 65536}, {1, 65536}}};
  const auto result = expected("matmul_reduce_scatter", "dtype: i32, world: 2, shape: {m: 2, n: 1, k: 2}", inputs);
  EXPECT_EQ(result[0].value, Values{12 + 5 + 6 * 65536});
  EXPECT_EQ(result[1].value, Values{34 + 7});  // 2^32 is 0
}

/// Each product is rounded to bf16 (8 bits) before the sum is: 0.5 units of each of three.
TEST(Reference, SumsOfProductsMayRoundEachOfThem) {
  const auto result = expected("matmul_all_reduce", "dtype: bf16, world: 3, shape: {m: 1, n: 1, k: 1}",
                               {{{100}, {1}}, {{-100}, {1}}, {{3}, {1}}});
  EXPECT_EQ(result[0].value, (Values{3}));
  EXPECT_NEAR(result[0].tolerance[0], 203 / 256.0 + (3 + 203 / 256.0) / 256.0, 1e-3);
}

/// A product that overflows before the sum is taken stays infinite, though the sum is not.
/// 3e38 + 3e38 - 3e38.
TEST(Reference, APartialSumOfAProductThatOverflowsMayStayInfinite) {
  const double big = 3e38;
  for (const char* pattern : {"matmul", "matmul_all_reduce"}) {
    const auto result = expected(pattern, "world: 1, dtype: f32, shape: {m: 1, n: 2, k: 3}",
                                 {{{big, big, -big}, {1, 1e-3, 1, 1e-3, 1, 1e-3}}});
    EXPECT_EQ(result[0].tolerance[0], std::numeric_limits<double>::infinity()) << pattern;
    EXPECT_LT(result[0].tolerance[1], 1e30) << pattern;
  }
}

TEST(Reference, AProductThatOverflowsItsTypeMayStayInfinite) {
  const auto result = expected("matmul_reduce_scatter", "dtype: f16, world: 2, shape: {m: 2, n: 1, k: 1}",
                               {{{60000, 1}, {2}}, {{-60000, 1}, {2}}});
  EXPECT_EQ(result[0].tolerance[0], std::numeric_limits<double>::infinity());
  EXPECT_LT(result[1].tolerance[0], 0.01);
}

TEST(Expect, AllowsHalfAUnitOfTheElementsType) {
  Expectation expectation;
  expect(expectation, Dtype::bf16, 1.0, 0);
  expect(expectation, Dtype::f16, 0.0, 0);
  expect(expectation, Dtype::f64, 3.0, 0.25);
  EXPECT_DOUBLE_EQ(expectation.tolerance[0], 0x1p-8);
  EXPECT_DOUBLE_EQ(expectation.tolerance[1], 0x1p-25);
  EXPECT_DOUBLE_EQ(expectation.tolerance[2], 0.25);
}

}  // namespace
}  // namespace irisgen::reference_test
