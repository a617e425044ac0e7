#include "runtime/verify/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "iris/values.hpp"

namespace iris::random_test {
namespace {

using irisgen::Dtype;
using irisgen::Op;

/// Fixed for good: data must be the same on every machine, backend and version.
TEST(Random, GivesTheSameBitsForEver) {
  EXPECT_EQ(random_bits({.seed = 0, .rank = 0, .argument = 0, .launch = 0}, 0), 0x19a2d075a8874efbu);
  EXPECT_EQ(random_bits({.seed = 1, .rank = 2, .argument = 3, .launch = 4}, 5), 0xfec932622d4a9596u);
}

TEST(Random, DiffersInEveryElementRankArgumentLaunchAndSeed) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (const std::uint64_t seed : {0u, 1u, 12345u}) {
    for (int rank = 0; rank < 4; ++rank) {
      for (int argument = 0; argument < 3; ++argument) {
        for (int launch = 0; launch < 3; ++launch) {
          for (std::uint64_t index = 0; index < 500; ++index, ++drawn) {
            seen.insert(random_bits({.seed = seed, .rank = rank, .argument = argument, .launch = launch}, index));
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(Random, SetsEveryBitHalfOfTheTime) {
  constexpr int draws = 20000;
  std::vector<int> ones(64, 0);
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t bits = random_bits({.seed = 9}, static_cast<std::uint64_t>(i));
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(bits >> bit & 1);
  }
  for (const int count : ones) EXPECT_NEAR(count, draws / 2, 5 * std::sqrt(draws) / 2);
}

TEST(Random, StaysInTheRangeOfItsOp) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (const double value : random_values({.seed = 5}, 5000, dtype, Op::sum)) {
      ASSERT_LE(std::fabs(value), 1.0);
      ASSERT_EQ(value, round_to(value, dtype));
    }
    double product = 1;
    for (const double value : random_values({.seed = 5}, 5000, dtype, Op::prod)) {
      ASSERT_GE(std::fabs(value), 0.75);
      ASSERT_LE(std::fabs(value), 1.25);
      product = std::max(product, std::pow(std::fabs(value), 16));
    }
    EXPECT_LT(product, 65504.0);
  }
}

TEST(Random, TakesIntegersOfEverySizeAndSign) {
  const std::vector<double> values = random_values({.seed = 5}, 5000, Dtype::i32, Op::sum);
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_LT(low, -2.1e9);
  EXPECT_GT(high, 2.1e9);
  for (const double value : values) ASSERT_EQ(value, std::trunc(value));
}

}  // namespace
}  // namespace iris::random_test
