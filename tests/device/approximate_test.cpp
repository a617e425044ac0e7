#include "iris/device/approximate.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "iris/device/platform/approximate/tanh.hpp"
#include "tests/device/worst_error.hpp"

// What is said of approximations, against the C library's functions in double. Here the instructions are exact; where a
// platform composes a function of them, they are off by as much as they may be.

namespace iris::device::approximate {
namespace {

/// As test::worst_error_of_f32(), of numbers `is_wanted`.
template <typename Wanted, typename Error>
test::WorstError<f32> worst_of(const Wanted& is_wanted, const Error& error) {
  return test::worst_error_of_f32([&](f32 x) { return !std::isnan(x) && is_wanted(x) ? error(x) : 0; });
}

bool is_normal(double result) {
  return result >= 0x1p-126 && result < 0x1p128;
}

TEST(Approximate, PowersAreAsNearAsItSays) {
  const auto of_exp2 = worst_of([](f32 x) { return is_normal(std::exp2(double{x})); },
                                [](f32 x) { return std::abs(exp2(x) / std::exp2(double{x}) - 1); });
  EXPECT_LE(of_exp2.error, 0x1p-21) << std::hexfloat << of_exp2.at;
  const auto of_exp = worst_of([](f32 x) { return is_normal(std::exp(double{x})); },
                               [](f32 x) {
                                 const double error = std::abs(exp(x) / std::exp(double{x}) - 1);
                                 return error / (0x1p-21 + 0x1p-22 * std::abs(double{x}));
                               });
  EXPECT_LE(of_exp.error, 1) << std::hexfloat << of_exp.at;
}

TEST(Approximate, ErrorFunctionIsAsNearAsItSays) {
  const auto worst = worst_of([](f32) { return true; }, [](f32 x) { return std::abs(erf(x) - std::erf(double{x})); });
  EXPECT_LE(worst.error, 0x1p-20) << std::hexfloat << worst.at;
}

TEST(Approximate, TanhIsAsNearAsItSays) {
  const auto worst = worst_of([](f32) { return true; }, [](f32 x) { return std::abs(tanh(x) - std::tanh(double{x})); });
  EXPECT_LE(worst.error, 0x1p-11) << std::hexfloat << worst.at;
}

/// Off by as much as 2^-22.
f32 off(f32 exact) {
  static std::mt19937 random(23);
  return exact * static_cast<f32>(1 + (static_cast<double>(random()) * 0x1p-31 - 1) * 0x1p-22);
}
f32 rough_exp2(f32 x) {
  return off(std::exp2(x));
}
f32 rough_reciprocal(f32 x) {
  return off(1 / x);
}

// Where there is no instruction for it.
TEST(Approximate, TanhOfRoughPowersIsNearer) {
  const auto worst = worst_of([](f32) { return true; },
                              [](f32 x) {
                                const f32 found = platform::tanh_from_exp2<rough_exp2, rough_reciprocal>(x);
                                return std::abs(found - std::tanh(double{x}));
                              });
  EXPECT_LE(worst.error, 0x1p-20) << std::hexfloat << worst.at;
}

TEST(Approximate, QuotientsAreAsNearAsItSays) {
  std::mt19937_64 random(24);
  for (int i = 0; i < 1 << 20; ++i) {
    const f32 a = std::bit_cast<f32>(static_cast<std::uint32_t>(random()));
    const f32 b = std::bit_cast<f32>(static_cast<std::uint32_t>(random()));
    const double exact = double{a} / double{b};
    const auto is_between = [](double x) { return std::abs(x) >= 0x1p-126 && std::abs(x) <= 0x1p126; };
    if (!is_between(b) || !is_between(exact)) continue;
    ASSERT_LE(std::abs(divide(a, b) / exact - 1), 0x1p-21) << std::hexfloat << a << " / " << b;
  }
}

TEST(Approximate, EndsAreWhatTheyAreInMathematics) {
  constexpr f32 infinite = std::numeric_limits<f32>::infinity();
  constexpr f32 nan = std::numeric_limits<f32>::quiet_NaN();
  EXPECT_EQ(exp(-infinite), 0);
  EXPECT_EQ(exp(infinite), infinite);
  EXPECT_EQ(exp(f32{0}), 1);
  EXPECT_EQ(exp2(f32{-3}), 0.125f);
  EXPECT_EQ(tanh(infinite), 1);
  EXPECT_EQ(tanh(-infinite), -1);
  EXPECT_EQ(erf(infinite), 1);
  EXPECT_EQ(erf(-infinite), -1);
  EXPECT_EQ(divide(f32{1}, infinite), 0);
  for (const f32 result : {exp(nan), exp2(nan), tanh(nan), erf(nan), divide(nan, 1), divide(1, nan)})
    EXPECT_TRUE(std::isnan(result));
}

// What `run` measures the others by.
TEST(Approximate, OfF64IsPrecise) {
  for (const f64 x : {-30.0, -2.5, -0x1p-40, 0.0, 0.3, 1.0, 4.0, 500.0}) {
    EXPECT_EQ(exp(x), device::exp(x));
    EXPECT_EQ(exp2(x), device::exp2(x));
    EXPECT_EQ(tanh(x), device::tanh(x));
    EXPECT_EQ(erf(x), device::erf(x));
    EXPECT_EQ(divide(x, f64{3}), x / 3);
  }
}

}  // namespace
}  // namespace iris::device::approximate
