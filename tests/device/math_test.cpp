#include "iris/device/math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "iris/device/platform/math/quotient.hpp"
#include "iris/device/platform/math/square_root.hpp"
#include "tests/device/worst_error.hpp"

// Elementary functions against the C library's in a wider type.

namespace iris::device::math_test {
namespace {

/// What a function is measured against: f32 in double, f64 in long double, and the error stated in math.hpp, in ulp.
/// The values of f64 that are tried lie between `low` and `high`, or anywhere.
struct Function {
  const char* name;
  f32 (*of_f32)(f32);
  double (*expected_of_f32)(double);
  double bound_of_f32;
  f64 (*of_f64)(f64);
  long double (*expected_of_f64)(long double);
  double bound_of_f64;
  double low;
  double high;

  friend std::ostream& operator<<(std::ostream& out, const Function& that) { return out << that.name; }
};

template <typename T>
T reciprocal_root(T x) {
  return 1 / std::sqrt(x);
}

const std::array functions = {
    Function{"exp", exp, std::exp, 0.9, exp, std::exp, 0.9, -746, 710},
    Function{"exp2", exp2, std::exp2, 1.0, exp2, std::exp2, 0.9, -1076, 1025},
    Function{"expm1", expm1, std::expm1, 1.5, expm1, std::expm1, 1.9, -2, 2},
    Function{"log", log, std::log, 1.0, log, std::log, 1.0, 0.25, 4},
    Function{"log2", log2, std::log2, 1.2, log2, std::log2, 1.3, 0.25, 4},
    Function{"log1p", log1p, std::log1p, 1.6, log1p, std::log1p, 1.6, -1, 4},
    Function{"tanh", tanh, std::tanh, 1.6, tanh, std::tanh, 2.7, -3, 3},
    Function{"erf", erf, std::erf, 1.2, erf, std::erf, 1.2, -6, 6},
    Function{"sqrt", sqrt, std::sqrt, 0.5, sqrt, std::sqrt, 0.501, 0, 4},
    Function{"rsqrt", rsqrt, reciprocal_root, 1.5, rsqrt, reciprocal_root, 1.5, 0, 4},
    Function{"floor", floor, std::floor, 0, floor, std::floor, 0, -1000, 1000},
    Function{"ceil", ceil, std::ceil, 0, ceil, std::ceil, 0, -1000, 1000},
    Function{"rint", rint, std::rint, 0, rint, std::rint, 0, -1000, 1000},
};

/// How far `actual` is from `expected`, in the distance of T's numbers there; infinite where one of them is NaN,
/// infinite or a zero of another sign and the other one, rounded, is not.
template <typename T, typename Wide>
double error_in_ulp(T actual, Wide expected) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(actual)) return std::isnan(rounded) == std::isnan(actual) ? 0 : wrong;
  if (std::isinf(rounded) || std::isinf(actual)) return rounded == actual ? 0 : wrong;
  if (rounded == 0 && actual == 0) return std::signbit(rounded) == std::signbit(actual) ? 0 : wrong;
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr int least = std::numeric_limits<T>::min_exponent;
  int exponent = 0;
  std::frexp(expected, &exponent);
  const Wide ulp = std::ldexp(Wide{1}, std::max(exponent, least) - digits);
  return static_cast<double>(std::abs(actual - expected) / ulp);
}

class MathFunction : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Math, MathFunction, testing::ValuesIn(functions),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(MathFunction, IsAsPreciseInF32AsItSays) {
  const auto worst =
      test::worst_error_of_f32([](f32 x) { return error_in_ulp(GetParam().of_f32(x), GetParam().expected_of_f32(x)); });
  EXPECT_LE(worst.error, GetParam().bound_of_f32) << "at " << std::hexfloat << worst.at;
}

TEST_P(MathFunction, IsAsPreciseInF64AsItSays) {
  if (LDBL_MANT_DIG <= DBL_MANT_DIG) GTEST_SKIP() << "long double is no wider than double here";
  std::mt19937_64 random(20);
  std::uniform_real_distribution<f64> between(GetParam().low, GetParam().high);
  test::WorstError<f64> worst;
  for (int i = 0; i < 1 << 19; ++i) {
    const f64 x = i % 2 == 0 ? std::bit_cast<f64>(random()) : between(random);
    worst.add(x, error_in_ulp(GetParam().of_f64(x), GetParam().expected_of_f64(x)));
  }
  EXPECT_LE(worst.error, GetParam().bound_of_f64) << "at " << std::hexfloat << worst.at;
}

/// Values at which something may turn: zeros, the ends of the normal and subnormal numbers, infinity, NaN, and so on,
/// of both signs.
template <typename T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all = {0,
                        1,
                        2,
                        T(0.5),
                        T(1.5),
                        T(2.5),
                        Limits::denorm_min(),
                        Limits::min(),
                        Limits::max(),
                        Limits::infinity(),
                        Limits::epsilon(),
                        1 / Limits::epsilon(),
                        Limits::epsilon() / 4,
                        std::sqrt(T(0.5)),
                        std::sqrt(T(2)),
                        T(0.55),
                        T(0.9),
                        T(3.95),
                        T(5.95),
                        T(17.5),
                        std::log(Limits::max()),
                        -std::log(Limits::denorm_min()),
                        -std::log(Limits::min()),
                        T(Limits::max_exponent),
                        T(Limits::digits - Limits::min_exponent)};
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(std::nextafter(all[i], T(0)));
    all.push_back(std::nextafter(all[i], Limits::infinity()));
  }
  all.push_back(Limits::quiet_NaN());
  for (std::size_t i = 0, count = all.size(); i < count; ++i) all.push_back(-all[i]);
  return all;
}

TEST_P(MathFunction, IsPreciseAtSpecialValues) {
  for (const f32 x : special_values<f32>()) {
    EXPECT_LE(error_in_ulp(GetParam().of_f32(x), GetParam().expected_of_f32(x)), GetParam().bound_of_f32)
        << std::hexfloat << x;
  }
  for (const f64 x : special_values<f64>()) {
    EXPECT_LE(error_in_ulp(GetParam().of_f64(x), GetParam().expected_of_f64(x)), GetParam().bound_of_f64)
        << std::hexfloat << x;
  }
}

// Where one polynomial ends and the next begins values go on growing, but for an ulp that each may be off.
TEST(Math, GrowsAcrossBorders) {
  const auto expect_growth = [](auto function, auto border) {
    using T = decltype(border);
    T x = border;
    for (int i = 0; i < 100; ++i) x = std::nextafter(x, -std::numeric_limits<T>::infinity());
    for (int i = 0; i < 200; ++i) {
      const T next = std::nextafter(x, std::numeric_limits<T>::infinity());
      const T least = std::nextafter(function(x), -std::numeric_limits<T>::infinity());
      EXPECT_GE(function(next), least) << std::hexfloat << x;
      x = next;
    }
  };
  for (const Function& function : functions) {
    if (std::string(function.name) == "rsqrt") continue;  // it falls
    for (const double border : {0.55, 0.9, 3.95, 5.95, 0.5 * std::log(2.0), 1.5 * std::log(2.0), std::sqrt(0.5),
                                std::sqrt(2.0), 1.0, 0.5, 2.5, 0x1p-25, 0x1p-54, 0x1p23}) {
      SCOPED_TRACE(function.name);
      expect_growth(function.of_f32, static_cast<f32>(border));
      expect_growth(function.of_f64, border);
    }
  }
}

TEST(Math, IsExactAtPowersOfTwo) {
  for (int i = -149; i < 128; ++i) {
    EXPECT_EQ(exp2(static_cast<f32>(i)), std::ldexp(1.0f, i));
    EXPECT_EQ(log2(std::ldexp(1.0f, i)), static_cast<f32>(i));
  }
  for (int i = -1074; i < 1024; ++i) {
    EXPECT_EQ(exp2(static_cast<f64>(i)), std::ldexp(1.0, i));
    EXPECT_EQ(log2(std::ldexp(1.0, i)), static_cast<f64>(i));
  }
}

/// What IEEE 754 recommends, written down.
template <typename T>
void expect_what_the_standard_says() {
  constexpr T infinite = std::numeric_limits<T>::infinity();
  EXPECT_EQ(exp(-infinite), 0);
  EXPECT_EQ(exp(T(0)), 1);
  EXPECT_EQ(expm1(-infinite), -1);
  EXPECT_TRUE(std::signbit(expm1(T(-0.0))));
  EXPECT_EQ(log(T(-0.0)), -infinite);
  EXPECT_FALSE(std::signbit(log(T(1))));
  EXPECT_TRUE(std::isnan(log(T(-1))));
  EXPECT_TRUE(std::isnan(log2(-infinite)));
  EXPECT_EQ(log1p(T(-1)), -infinite);
  EXPECT_EQ(log1p(infinite), infinite);
  EXPECT_TRUE(std::isnan(log1p(T(-1.5))));
  EXPECT_TRUE(std::signbit(log1p(T(-0.0))));
  EXPECT_EQ(tanh(-infinite), -1);
  EXPECT_TRUE(std::signbit(tanh(T(-0.0))));
  EXPECT_EQ(erf(infinite), 1);
  EXPECT_TRUE(std::signbit(erf(T(-0.0))));
  EXPECT_TRUE(std::signbit(sqrt(T(-0.0))));
  EXPECT_EQ(rsqrt(T(-0.0)), -infinite);
  EXPECT_EQ(rsqrt(infinite), 0);
  EXPECT_TRUE(std::signbit(ceil(T(-0.25))));
  EXPECT_EQ(rint(T(2.5)), 2);
}

TEST(Math, IsWhatTheStandardSaysAtSpecialValues) {
  expect_what_the_standard_says<f32>();
  expect_what_the_standard_says<f64>();
}

template <typename T>
void expect_selections() {
  constexpr T infinite = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(min(T(1), T(2)), 1);
  EXPECT_EQ(max(T(1), T(2)), 2);
  for (const auto select : {static_cast<T (*)(T, T)>(min), static_cast<T (*)(T, T)>(max)}) {
    EXPECT_TRUE(std::isnan(select(nan, T(1))));
    EXPECT_TRUE(std::isnan(select(T(1), nan)));
  }
  EXPECT_EQ(abs(T(-3)), 3);
  EXPECT_FALSE(std::signbit(abs(T(-0.0))));
  EXPECT_EQ(copysign(T(3), T(-0.0)), -3);
  EXPECT_EQ(copysign(T(-3), T(1)), 3);
  EXPECT_TRUE(is_nan(-nan));
  EXPECT_FALSE(is_nan(infinite));
  EXPECT_TRUE(is_infinite(-infinite));
  EXPECT_FALSE(is_infinite(nan));
  EXPECT_FALSE(is_infinite(std::numeric_limits<T>::max()));
  EXPECT_EQ(infinity<T>(), infinite);
  // (1 + u)² - (1 + 2·u) is u², which a product that is rounded by itself loses.
  const T u = std::numeric_limits<T>::epsilon();
  EXPECT_EQ(fma(1 + u, 1 + u, -(1 + 2 * u)), u * u);
}

TEST(Math, SelectsBySizeAndSign) {
  expect_selections<f32>();
  expect_selections<f64>();
  EXPECT_EQ(min(-2147483647, 3), -2147483647);
  EXPECT_EQ(max(i64{1} << 40, i64{3}), i64{1} << 40);
  EXPECT_EQ(abs(-7), 7);
  EXPECT_EQ(abs(-2147483647 - 1), -2147483647 - 1);
}

/// A value whose root lies less than k · 2^-107 above what is halfway between two numbers, 1 + m · 2^-53: m² is -k
/// modulo 2^54, which has a solution where k is 7 modulo 8.
f64 square_above_halfway(std::uint64_t k) {
  std::uint64_t m = 1;
  for (int bit = 3; bit < 54; ++bit) {
    if (((m * m + k) >> bit & 1) != 0) m += std::uint64_t{1} << (bit - 1);
  }
  m %= std::uint64_t{1} << 53;
  m = std::min(m, (std::uint64_t{1} << 53) - m);
  // (1 + m · 2^-53)² + k · 2^-106, a multiple of 2^-52.
  const auto square = static_cast<unsigned __int128>(m) * m + k;
  return 1 + (static_cast<f64>(m) + static_cast<f64>(static_cast<std::uint64_t>(square >> 54))) * 0x1p-52;
}

// What platforms with no more than a rough reciprocal root make of it, off by as much as it may be.
TEST(SquareRoot, IsCorrectlyRoundedFromARoughReciprocal) {
  std::mt19937_64 random(21);
  const auto expect_right = [&random](auto x) {
    using T = decltype(x);
    const bool is_good = random() % 4 == 0;
    const T error = is_good ? 0 : static_cast<T>((static_cast<f64>(random() >> 11) * 0x1p-52 - 1) * 0x1p-22);
    const T rough = (1 / std::sqrt(x)) * (1 + error);
    const T root = platform::square_root_from_reciprocal<T, platform::fma_rounded_once>(x, rough);
    ASSERT_EQ(root, std::sqrt(x)) << std::hexfloat << x;
  };
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(1.0f); bits < std::bit_cast<std::uint32_t>(4.0f); bits += 5)
    expect_right(std::bit_cast<f32>(bits));
  for (std::uint64_t i = 0; i < 1 << 18; ++i) {
    expect_right(1 + 3 * static_cast<f64>(random() >> 11) * 0x1p-53);
    expect_right(square_above_halfway(8 * (i % 1024) + 7));
    // Just below halfway.
    expect_right(1 + static_cast<f64>(2 * (i % 1024) + 1) * std::numeric_limits<f64>::epsilon());
  }
}

/// 1 / x modulo an odd number.
std::int64_t inverse(std::int64_t x, std::int64_t modulus) {
  std::int64_t a = modulus;
  std::int64_t b = x % modulus;
  std::int64_t of_a = 0;
  std::int64_t of_b = 1;
  while (b != 0) {
    const std::int64_t times = a / b;
    a = std::exchange(b, a - times * b);
    of_a = std::exchange(of_b, of_a - times * of_b);
  }
  return of_a < 0 ? of_a + modulus : of_a;
}

// The same of a rough reciprocal: denominators that tanh has, any, and quotients next to halfway between two numbers.
TEST(Quotient, IsCorrectlyRoundedFromARoughReciprocal) {
  std::mt19937_64 random(22);
  const auto expect_right = [&random](f32 a, f32 b) {
    const bool has_only_ones = (std::bit_cast<std::uint32_t>(b) & 0x7fffff) == 0x7fffff;
    const bool is_good = has_only_ones || random() % 4 == 0;
    const f64 error = is_good ? 0 : (static_cast<f64>(random() >> 11) * 0x1p-52 - 1) * 0x1p-23;
    const auto rough = static_cast<f32>((1 / f64{b}) * (1 + error));
    const f32 quotient = platform::quotient_from_reciprocal<platform::fma_rounded_once>(a, b, rough);
    ASSERT_EQ(quotient, a / b) << std::hexfloat << a << " / " << b << ", from " << rough;
  };
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(2.0f); bits < std::bit_cast<std::uint32_t>(0x1p29f);
       bits += 331)
    expect_right(2, std::bit_cast<f32>(bits));
  for (int i = 0; i < 1 << 16; ++i) {
    const auto numerator = static_cast<f32>(random() >> 40 | 1 << 23);
    const auto denominator = static_cast<std::int64_t>(random() >> 41 | 1 << 23 | 1);
    expect_right(numerator, static_cast<f32>(denominator));
    // 2^24 · a / b is an integer and a half, and 1 / 2b more or less.
    for (const std::int64_t half : {denominator / 2, denominator / 2 + 1}) {
      const std::int64_t a = half * inverse(1 << 24, denominator) % denominator;
      if (2 * a >= denominator) expect_right(static_cast<f32>(a), static_cast<f32>(denominator));
    }
  }
}

}  // namespace
}  // namespace iris::device::math_test
