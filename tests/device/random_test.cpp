#include "iris/device/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace iris::device::random_test {
namespace {

struct KnownAnswer {
  std::array<u32, 4> counter;
  std::array<u32, 2> key;
  std::array<u32, 4> words;
};

/// The `philox4x32 10` lines of Random123's kat_vectors.
constexpr std::array known_answers = {
    KnownAnswer{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    KnownAnswer{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                {0xffffffff, 0xffffffff},
                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    KnownAnswer{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                {0xa4093822, 0x299f31d0},
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(Philox, GivesThePublishedAnswers) {
  for (const auto& [counter, key, expected] : known_answers) {
    const RandomWords words = philox4x32_10({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(words.words[i], expected.at(i));
  }
}

TEST(RandomSequence, CountsBlocksBelowTheSequencesNumber) {
  const KnownAnswer& answer = known_answers[2];
  const RandomSequence random{.seed = 0x299f31d0'a4093822u, .sequence = 0x03707344'13198a2eu};
  const RandomWords words = random.block(0x85a308d3'243f6a88u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(words.words[i], answer.words.at(i));
  EXPECT_EQ(words.pair(0), 0x94fdcceb'd16cfe09u);
  EXPECT_EQ(words.pair(1), 0x24126ea1'5001e420u);
}

template <typename T>
class RandomNumbers : public testing::Test {};
using Types = testing::Types<f64, f32, f16, bf16, e4m3>;
TYPED_TEST_SUITE(RandomNumbers, Types);

constexpr int blocks = 1 << 16;

/// Bits of the significand by the formats' definitions.
template <typename T>
constexpr int digits() {
  if (sizeof(T) == 8) return 53;
  if (sizeof(T) == 4) return 24;
  if (sizeof(T) == 1) return 4;
  return std::is_same_v<T, f16> ? 11 : 8;
}

TYPED_TEST(RandomNumbers, AreUniform) {
  using Numbers = UniformNumbers<TypeParam>;
  const double step = std::ldexp(1.0, -digits<TypeParam>());
  double sum = 0;
  double squares = 0;
  double smallest = 1;
  double largest = 0;
  std::array<int, 16> bins{};
  for (u64 block = 0; block < blocks; ++block) {
    const auto numbers = Numbers::of(RandomSequence{.seed = 3, .sequence = 0}.block(block));
    for (int i = 0; i < Numbers::count; ++i) {
      const f64 x = convert<f64>(numbers[i]);
      ASSERT_GE(x, 0);
      ASSERT_LT(x, 1);
      ASSERT_EQ(x / step, std::floor(x / step));
      sum += x;
      squares += x * x;
      smallest = std::min(smallest, x);
      largest = std::max(largest, x);
      ++bins.at(static_cast<std::size_t>(x * 16));
    }
  }
  constexpr double n = blocks * Numbers::count;
  // Of multiples of the step below 1; six standard deviations of the mean of so many.
  const double tolerance = 6 * std::sqrt(1 / (12 * n));
  EXPECT_NEAR(sum / n, 0.5 - step / 2, tolerance);
  EXPECT_NEAR(squares / n, 1.0 / 3 - step / 2 + step * step / 6, tolerance);
  for (const int bin : bins) EXPECT_NEAR(bin / n, 1.0 / 16, 6 * std::sqrt(1.0 / 16 * 15 / 16 / n));
  EXPECT_LT(smallest, 0.001);
  EXPECT_GE(largest, 0.999 - step);
}

TYPED_TEST(RandomNumbers, AreNormal) {
  using Numbers = NormalNumbers<TypeParam>;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  int beyond_two = 0;
  double products = 0;
  for (u64 block = 0; block < blocks; ++block) {
    const auto numbers = Numbers::of(RandomSequence{.seed = 5, .sequence = 1}.block(block));
    for (int i = 0; i < Numbers::count; ++i) {
      const f64 x = convert<f64>(numbers[i]);
      sum += x;
      squares += x * x;
      fourths += x * x * x * x;
      beyond_two += std::abs(x) >= 2 ? 1 : 0;
      if (i % 2 == 1) products += x * convert<f64>(numbers[i - 1]);
    }
  }
  constexpr double n = blocks * Numbers::count;
  const double rounding = digits<TypeParam>() < 8 ? 0.01 : 0.001;  // moments of rounded numbers
  EXPECT_NEAR(sum / n, 0, 6 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 6 * std::sqrt(2 / n) + rounding);
  EXPECT_NEAR(fourths / n, 3, 6 * std::sqrt(96 / n) + 6 * rounding);
  EXPECT_NEAR(products / (n / 2), 0, 6 * std::sqrt(2 / n));
  // Of coarse numbers, those that are rounded to 2 count, too.
  if (digits<TypeParam>() >= 8) {
    EXPECT_NEAR(beyond_two / n, std::erfc(std::numbers::sqrt2), 0.001);
  }
}

/// Box and Muller's formula by the C library, in a wider type.
TEST(NormalNumbers, AreWhatTheFormulaSays) {
  const RandomSequence random{.seed = 11, .sequence = 2};
  for (u64 block = 0; block < 4096; ++block) {
    const RandomWords words = random.block(block);
    const Pack<f32, 4> narrow = NormalNumbers<f32>::of(words);
    for (int pair = 0; pair < 2; ++pair) {
      const double u = (words.words[2 * pair] + 0.5) * 0x1p-32;
      const double turn = (words.words[2 * pair + 1] >> 8) * 0x1p-24;
      const double radius = std::sqrt(-2 * std::log(u));
      EXPECT_NEAR(narrow[2 * pair], radius * std::cos(2 * std::numbers::pi * turn), 1e-5);
      EXPECT_NEAR(narrow[2 * pair + 1], radius * std::sin(2 * std::numbers::pi * turn), 1e-5);
    }
    const Pack<f64, 2> wide = NormalNumbers<f64>::of(words);
    const long double u = (static_cast<long double>(words.pair(0) >> 11) + 0.5L) * 0x1p-53L;
    const long double turn = static_cast<long double>(words.pair(1) >> 11) * 0x1p-53L;
    const long double radius = std::sqrt(-2 * std::log(u));
    EXPECT_NEAR(wide[0], static_cast<double>(radius * std::cos(2 * std::numbers::pi_v<long double> * turn)), 1e-13);
    EXPECT_NEAR(wide[1], static_cast<double>(radius * std::sin(2 * std::numbers::pi_v<long double> * turn)), 1e-13);
  }
}

TEST(NormalNumbers, AreFiniteForEveryWord) {
  constexpr u32 ones = 0xffffffffu;
  for (const RandomWords& words : {RandomWords{{0, 0, 0, 0}}, RandomWords{{ones, ones, ones, ones}}}) {
    const Pack<f32, 4> narrow = NormalNumbers<f32>::of(words);
    const Pack<f64, 2> wide = NormalNumbers<f64>::of(words);
    for (int i = 0; i < 4; ++i) EXPECT_LE(std::abs(narrow[i]), 6.8) << words.words[0];
    for (int i = 0; i < 2; ++i) EXPECT_LE(std::abs(wide[i]), 8.7) << words.words[0];
  }
}

TEST(IntegerNumbers, AreTheUpperHalfOfTheProduct) {
  const RandomSequence random{.seed = 1, .sequence = 0};
  for (const u64 range : {u64{1}, u64{2}, u64{10}, u64{0xffffffff}, u64{1} << 32}) {
    for (u64 block = 0; block < 1000; ++block) {
      const RandomWords words = random.block(block);
      const Pack<i64, 2> numbers = IntegerNumbers{.low = -5, .range = range}.of(words);
      for (int i = 0; i < 2; ++i) {
        const auto expected = static_cast<i64>(static_cast<unsigned __int128>(words.pair(i)) * range >> 64) - 5;
        ASSERT_EQ(numbers[i], expected);
      }
    }
    EXPECT_EQ(IntegerNumbers::below(range, 0), 0);
    EXPECT_EQ(IntegerNumbers::below(range, ~u64{0}), range - 1);
  }
}

TEST(ForEachRandom, GivesEveryElementTheSameNumberWhateverTheGroup) {
  constexpr i64 count = 1003;
  const RandomSequence random{.seed = 9, .sequence = 4};
  for (const i64 size : {1, 7, 64, 2000}) {
    std::vector<int> times(count);
    for (i64 index = 0; index < size; ++index) {
      for_each_random({index, size}, random, count, UniformNumbers<f32>{}, [&](i64 i, f32 number) {
        ++times.at(static_cast<std::size_t>(i));
        EXPECT_EQ(number, (random.block(static_cast<u64>(i / 4)).words[i % 4] >> 8) * 0x1p-24);
      });
    }
    EXPECT_EQ(times, std::vector<int>(count, 1)) << size;
  }
}

}  // namespace
}  // namespace iris::device::random_test
