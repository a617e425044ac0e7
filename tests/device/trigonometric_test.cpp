#include "iris/device/math/trigonometric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>

namespace iris::device::math::trigonometric_test {
namespace {

/// In units of the last place of `actual`'s type at `expected`.
template <typename T, typename Wide>
double error_in_ulp(T actual, Wide expected) {
  int exponent = 0;
  std::frexp(expected, &exponent);
  const Wide ulp = std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(actual - expected) / ulp);
}

template <typename T, typename Wide>
void expect_precise(double scale, int count, double bound) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> between(-scale, scale);
  double worst_sine = 0;
  double worst_cosine = 0;
  for (int i = 0; i < count; ++i) {
    const T x = static_cast<T>(between(generator));
    const SineCosine<T> actual = sine_cosine_of_pi_times(x);
    // The nearest multiple of 1/2 is taken off exactly: π times a rounded x would be off by more than is measured.
    const Wide rest = static_cast<Wide>(x) - std::nearbyint(2 * static_cast<Wide>(x)) / 2;
    if (rest == 0) continue;
    const auto halves = static_cast<std::int64_t>(std::nearbyint(2 * static_cast<Wide>(x)));
    const Wide sine = std::sin(std::numbers::pi_v<Wide> * rest);
    const Wide cosine = std::cos(std::numbers::pi_v<Wide> * rest);
    const Wide turned[] = {sine, cosine, -sine, -cosine, sine};
    worst_sine = std::max(worst_sine, error_in_ulp(actual.sine, turned[halves & 3]));
    worst_cosine = std::max(worst_cosine, error_in_ulp(actual.cosine, turned[(halves & 3) + 1]));
  }
  EXPECT_LE(worst_sine, bound);
  EXPECT_LE(worst_cosine, bound);
  EXPECT_GT(worst_sine, 0.4);  // they were compared
}

TEST(SineCosineOfPi, IsAsPreciseInF32AsItSays) {
  expect_precise<f32, double>(2, 1 << 20, 1.0);
  expect_precise<f32, double>(1 << 20, 1 << 18, 1.0);
}

TEST(SineCosineOfPi, IsAsPreciseInF64AsItSays) {
  if (LDBL_MANT_DIG <= DBL_MANT_DIG) GTEST_SKIP() << "long double is no wider than double here";
  expect_precise<f64, long double>(2, 1 << 19, 1.1);
  expect_precise<f64, long double>(1 << 20, 1 << 18, 1.1);
}

TEST(SineCosineOfPi, IsExactAtMultiplesOfOneHalf) {
  const double sines[] = {0, 1, 0, -1};
  for (int halves = -9; halves < 9; ++halves) {
    const SineCosine<f32> narrow = sine_cosine_of_pi_times(static_cast<f32>(halves) / 2);
    const SineCosine<f64> wide = sine_cosine_of_pi_times(static_cast<f64>(halves) / 2);
    EXPECT_EQ(narrow.sine, sines[halves & 3]) << halves;
    EXPECT_EQ(narrow.cosine, sines[(halves + 1) & 3]) << halves;
    EXPECT_EQ(wide.sine, sines[halves & 3]) << halves;
    EXPECT_EQ(wide.cosine, sines[(halves + 1) & 3]) << halves;
  }
}

}  // namespace
}  // namespace iris::device::math::trigonometric_test
