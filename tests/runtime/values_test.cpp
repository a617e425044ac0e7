#include "iris/values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace iris::values_test {
namespace {

using irisgen::Dtype;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::byte> halves(const std::vector<std::uint16_t>& bits) {
  std::vector<std::byte> bytes(2 * bits.size());
  std::memcpy(bytes.data(), bits.data(), bytes.size());
  return bytes;
}

std::uint16_t bits_of(double value, Dtype dtype) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, to_bytes(std::vector{value}, dtype).data(), 2);
  return bits;
}

TEST(Values, KeepEveryPatternOfThe16BitFloats) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const irisgen::Values values = to_values(halves(all), dtype);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(values[i])) continue;
      ASSERT_EQ(bits_of(values[i], dtype), all[i]);
    }
  }
}

TEST(Values, KnowTheLandmarksOfF16) {
  EXPECT_EQ(bits_of(1.0, Dtype::f16), 0x3c00);
  EXPECT_EQ(bits_of(-2.0, Dtype::f16), 0xc000);
  EXPECT_EQ(bits_of(65504, Dtype::f16), 0x7bff);
  EXPECT_EQ(bits_of(65519.99, Dtype::f16), 0x7bff);
  EXPECT_EQ(bits_of(65520, Dtype::f16), 0x7c00);
  EXPECT_EQ(bits_of(infinity, Dtype::f16), 0x7c00);
  EXPECT_EQ(bits_of(-0.0, Dtype::f16), 0x8000);
  EXPECT_EQ(bits_of(0x1p-24, Dtype::f16), 0x0001);
  EXPECT_EQ(bits_of(0x1p-25, Dtype::f16), 0x0000);
  EXPECT_EQ(bits_of(0x1.8p-24, Dtype::f16), 0x0002);
  EXPECT_EQ(bits_of(0x1.ffcp-15, Dtype::f16), 0x0400);
  EXPECT_TRUE(std::isnan(round_to(nan, Dtype::f16)));
}

TEST(Values, KnowTheLandmarksOfBf16) {
  EXPECT_EQ(bits_of(1.0, Dtype::bf16), 0x3f80);
  EXPECT_EQ(bits_of(1.0 + 0x1p-8, Dtype::bf16), 0x3f80);
  EXPECT_EQ(bits_of(1.0 + 0x1.8p-7, Dtype::bf16), 0x3f82);
  EXPECT_EQ(bits_of(0x1.fep127, Dtype::bf16), 0x7f7f);
  EXPECT_EQ(bits_of(0x1.ffp127, Dtype::bf16), 0x7f80);
  EXPECT_EQ(bits_of(0x1p-133, Dtype::bf16), 0x0001);
  EXPECT_TRUE(std::isnan(round_to(nan, Dtype::bf16)));
}

/// Rounding to the nearest means that no other element is nearer, and to even that a tie goes to the even pattern.
TEST(Values, RoundToTheNearest) {
  std::mt19937_64 random(3);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (int i = 0; i < 20000; ++i) {
      const auto low = static_cast<std::uint16_t>(random() % 0x7b00);
      const irisgen::Values around = to_values(halves({low, static_cast<std::uint16_t>(low + 1)}), dtype);
      const double fraction = i % 4 == 0 ? 0.5 : static_cast<double>(random() >> 11) * 0x1p-53;
      const double value = around[0] + fraction * (around[1] - around[0]);
      const bool up = fraction > 0.5 || (fraction == 0.5 && low % 2 != 0);
      ASSERT_EQ(bits_of(value, dtype), up ? low + 1 : low) << value;
      ASSERT_EQ(bits_of(-value, dtype), 0x8000 | (up ? low + 1 : low)) << value;
    }
  }
}

std::uint8_t e4m3_of(double value) {
  return static_cast<std::uint8_t>(to_bytes(std::vector{value}, Dtype::e4m3)[0]);
}

/// Tables 1 and 2 of the OCP 8-bit Floating Point Specification.
TEST(Values, KnowTheLandmarksOfE4M3) {
  EXPECT_EQ(e4m3_of(0.0), 0x00);
  EXPECT_EQ(e4m3_of(-0.0), 0x80);
  EXPECT_EQ(e4m3_of(0x1p-9), 0x01);
  EXPECT_EQ(e4m3_of(7 * 0x1p-9), 0x07);
  EXPECT_EQ(e4m3_of(0x1p-6), 0x08);
  EXPECT_EQ(e4m3_of(1.0), 0x38);
  EXPECT_EQ(e4m3_of(-1.75), 0xbe);
  EXPECT_EQ(e4m3_of(448), 0x7e);
  EXPECT_EQ(e4m3_of(nan), 0x7f);
}

TEST(Values, AreNoLargerThanTheLargestE4M3) {
  EXPECT_EQ(e4m3_of(449), 0x7e);
  EXPECT_EQ(e4m3_of(-1e30), 0xfe);
  EXPECT_EQ(e4m3_of(std::numeric_limits<double>::infinity()), 0x7e);
}

TEST(Values, RoundToTheNearestE4M3) {
  for (int low = 0; low < 0x7e; ++low) {
    const std::vector<std::byte> around = {static_cast<std::byte>(low), static_cast<std::byte>(low + 1)};
    const irisgen::Values ends = to_values(around, Dtype::e4m3);
    ASSERT_LT(ends[0], ends[1]);
    EXPECT_EQ(e4m3_of(ends[0]), low);
    EXPECT_EQ(e4m3_of(ends[0] + 0.49 * (ends[1] - ends[0])), low);
    EXPECT_EQ(e4m3_of(ends[0] + 0.50 * (ends[1] - ends[0])), low + low % 2) << "a tie goes to the even one";
    EXPECT_EQ(e4m3_of(ends[0] + 0.51 * (ends[1] - ends[0])), low + 1);
  }
}

TEST(Values, WrapIntegersAround) {
  EXPECT_EQ(round_to(2147483648.0, Dtype::i32), -2147483648.0);
  EXPECT_EQ(round_to(-2147483649.0, Dtype::i32), 2147483647.0);
  EXPECT_EQ(round_to(4294967296.0 * 5 + 3, Dtype::i32), 3.0);
  EXPECT_EQ(round_to(-7.0, Dtype::i32), -7.0);
}

TEST(Values, RefuseHalfAnElement) {
  const std::vector<std::byte> bytes(6);
  EXPECT_THROW(to_values(bytes, Dtype::f32), std::invalid_argument);
  EXPECT_EQ(to_values(bytes, Dtype::f16).size(), 3u);
}

Comparison compare_doubles(const irisgen::Values& actual, const irisgen::Values& expected,
                           const irisgen::Values& tolerance) {
  return compare(to_bytes(actual, Dtype::f64), Dtype::f64, {.value = expected, .tolerance = tolerance});
}

TEST(Compare, FindsTheElementThatIsWorstAgainstItsTolerance) {
  const Comparison found = compare_doubles({1.0, 2.5, 30.0}, {1.0, 2.0, 31.0}, {0.0, 0.25, 4.0});
  EXPECT_FALSE(found.passed());
  EXPECT_EQ(found.wrong, 1);
  EXPECT_EQ(found.index, 1);
  EXPECT_EQ(found.actual, 2.5);
  EXPECT_EQ(found.expected, 2.0);
  EXPECT_EQ(found.error, 0.5);
  EXPECT_EQ(found.tolerance, 0.25);
}

TEST(Compare, AcceptsAnErrorUpToTheTolerance) {
  EXPECT_TRUE(compare_doubles({1.25}, {1.0}, {0.25}).passed());
  EXPECT_FALSE(compare_doubles({1.2500001}, {1.0}, {0.25}).passed());
  EXPECT_FALSE(compare_doubles({std::nextafter(1.0, 2.0)}, {1.0}, {0.0}).passed());
}

TEST(Compare, TellsNaNFromNumbers) {
  EXPECT_TRUE(compare_doubles({nan}, {nan}, {0}).passed());
  EXPECT_FALSE(compare_doubles({nan}, {1.0}, {1e300}).passed());
  EXPECT_FALSE(compare_doubles({1.0}, {nan}, {1e300}).passed());
}

/// Where a result is to be NaN, the NaN that stood there before a launch is none.
TEST(Compare, TellsNaNFromWhatNobodyHasWritten) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::byte> actual = to_bytes(std::vector{nan, -nan, nan}, dtype);
    const irisgen::Expectation expected = {.value = {nan, nan, nan}, .tolerance = {0, 0, 0}};
    EXPECT_EQ(compare(actual, dtype, expected).wrong, 0);
    const auto last = actual.size() / 3 * 2;
    std::fill(actual.begin() + static_cast<std::ptrdiff_t>(last), actual.end(), std::byte{poison_byte(dtype)});
    EXPECT_EQ(compare(actual, dtype, expected).wrong, 1);
    EXPECT_EQ(compare(actual, dtype, expected).index, 2);
  }
}

TEST(Compare, AcceptsAnInfinityWhereTheSumOverflows) {
  const auto passes = [](double actual, double expected) {
    return compare(to_bytes(std::vector{actual}, Dtype::f16), Dtype::f16, {.value = {expected}, .tolerance = {32.0}})
        .passed();
  };
  EXPECT_TRUE(passes(infinity, 70000.0));
  EXPECT_TRUE(passes(infinity, 65490.0));
  EXPECT_FALSE(passes(infinity, 60000.0));
  EXPECT_FALSE(passes(-infinity, 70000.0));
  EXPECT_TRUE(passes(-infinity, -infinity));
  EXPECT_FALSE(passes(65504.0, infinity));
}

TEST(Compare, HasNothingToSayOfAnEmptyBuffer) {
  EXPECT_TRUE(compare_doubles({}, {}, {}).passed());
  EXPECT_EQ(compare_doubles({}, {}, {}).index, -1);
}

TEST(Compare, RefusesBuffersOfAnotherSize) {
  EXPECT_THROW(compare_doubles({1.0}, {}, {}), std::invalid_argument);
}

/// A sum, product or copy of test data that was never made cannot look right.
TEST(Poison, IsNeverAPlausibleValue) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const std::vector<std::byte> bytes(8, static_cast<std::byte>(poison_byte(dtype)));
    for (const double value : to_values(bytes, dtype)) EXPECT_TRUE(std::isnan(value));
  }
  const std::vector<std::byte> bytes(4, static_cast<std::byte>(poison_byte(Dtype::i32)));
  EXPECT_LT(to_values(bytes, Dtype::i32).front(), -1e9);
}

}  // namespace
}  // namespace iris::values_test
