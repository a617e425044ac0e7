#include "iris/device/numeric.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace iris::device::numeric_test {
namespace {

constexpr int all_values = 65536;
constexpr f32 infinity = std::numeric_limits<f32>::infinity();

f16 f16_of(int bits) {
  return {static_cast<unsigned short>(bits)};
}
bf16 bf16_of(int bits) {
  return {static_cast<unsigned short>(bits)};
}

/// The definition of binary16, written down without bit tricks.
double f16_by_definition(int bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return fraction ? std::nan("") : sign * infinity;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(F16, EveryValueIsWhatTheStandardDefines) {
  for (int bits = 0; bits < all_values; ++bits) {
    const double expected = f16_by_definition(bits);
    const f32 actual = convert<f32>(f16_of(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(actual, expected) << bits;
      EXPECT_EQ(std::signbit(actual), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(F16, EveryValueSurvivesTheWayThroughF32AndF64) {
  for (int bits = 0; bits < all_values; ++bits) {
    const f32 value = convert<f32>(f16_of(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(convert<f32>(convert<f16>(value)))) << bits;
      EXPECT_TRUE(std::isnan(convert<f32>(convert<f16>(static_cast<f64>(value))))) << bits;
    } else {
      EXPECT_EQ(convert<f16>(value).bits, bits);
      EXPECT_EQ(convert<f16>(convert<f64>(f16_of(bits))).bits, bits);
    }
  }
}

/// The neighbours `low` and `high` (bits of positive values): halfway goes to the even one, a trace more or less
/// decides.
template <typename Half>
void expect_nearest_even(int low, f64 low_value, f64 high_value) {
  const int high = low + 1;
  const f64 halfway = (low_value + high_value) / 2;
  const int even = low % 2 == 0 ? low : high;
  const auto bits_of_f32 = [](f64 value) { return convert<Half>(static_cast<f32>(value)).bits; };
  EXPECT_EQ(bits_of_f32(halfway), even) << low;
  EXPECT_EQ(convert<Half>(static_cast<f32>(-halfway)).bits, even | 1 << (8 * sizeof(Half) - 1)) << low;
  const f32 below = std::nextafter(static_cast<f32>(halfway), 0.0f);
  const f32 above = std::nextafter(static_cast<f32>(halfway), infinity);
  EXPECT_EQ(convert<Half>(below).bits, low) << low;
  EXPECT_EQ(convert<Half>(above).bits, high) << low;
  // Rounding by way of f32 would lose the trace and tie.
  EXPECT_EQ(convert<Half>(halfway).bits, even) << low;
  EXPECT_EQ(convert<Half>(std::nextafter(halfway, 0.0)).bits, low) << low;
  EXPECT_EQ(convert<Half>(std::nextafter(halfway, 1e300)).bits, high) << low;
}

TEST(F16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (int low = 0; low < 0x7bff; ++low) {
    expect_nearest_even<f16>(low, f16_by_definition(low), f16_by_definition(low + 1));
  }
}

TEST(F16, OverflowsToInfinityHalfAUnitAboveTheLargest) {
  EXPECT_EQ(convert<f16>(65519.996f).bits, 0x7bff);
  EXPECT_EQ(convert<f16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(convert<f16>(-1e30f).bits, 0xfc00);
  EXPECT_EQ(convert<f16>(1e300).bits, 0x7c00);
  EXPECT_EQ(convert<f16>(infinity).bits, 0x7c00);
}

/// The definition in the OCP 8-bit Floating Point Specification, written down without bit tricks.
double e4m3_by_definition(int bits) {
  const double sign = bits & 0x80 ? -1 : 1;
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction / 8.0, -6);
  return sign * std::ldexp(1 + fraction / 8.0, exponent - 7);
}

TEST(E4M3, EveryValueIsWhatItsDefinitionSays) {
  for (int bits = 0; bits < 256; ++bits) {
    const e4m3 value = {static_cast<unsigned char>(bits)};
    const double expected = e4m3_by_definition(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(convert<f32>(value))) << bits;
      EXPECT_TRUE(std::isnan(convert<f64>(value))) << bits;
    } else {
      EXPECT_EQ(convert<f32>(value), expected) << bits;
      EXPECT_EQ(convert<f64>(value), expected) << bits;
      EXPECT_EQ(std::signbit(convert<f32>(value)), bits >= 0x80) << bits;
    }
  }
}

TEST(E4M3, RoundsToNearestEvenBetweenAllNeighbours) {
  for (int low = 0; low < 0x7e; ++low) {
    expect_nearest_even<e4m3>(low, e4m3_by_definition(low), e4m3_by_definition(low + 1));
  }
}

TEST(E4M3, KeepsSignsAndNaNAndSaturates) {
  for (const f64 large : {448.0, 449.0, 464.0, 1e30, static_cast<f64>(infinity)}) {
    EXPECT_EQ(convert<e4m3>(static_cast<f32>(large)).bits, 0x7e) << large;
    EXPECT_EQ(convert<e4m3>(-large).bits, 0xfe) << large;
  }
  EXPECT_EQ(convert<e4m3>(-1.0f).bits, 0xb8);
  EXPECT_EQ(convert<e4m3>(-0.0).bits, 0x80);
  EXPECT_EQ(convert<e4m3>(0x1p-100f).bits, 0);
  EXPECT_EQ(convert<e4m3>(std::nanf("")).bits & 0x7f, 0x7f);
  EXPECT_EQ(convert<e4m3>(std::nan("")).bits & 0x7f, 0x7f);
}

/// Of 24 bits of significand 11 are left; by the C library's rounding to nearest even.
double tf32_by_definition(float value) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(value), &exponent);
  const double smallest = 0x1p-136;  // 10 bits of fraction of the least exponent
  const double unit = std::max(std::ldexp(1.0, exponent - 11), smallest);
  return std::nearbyint(std::ldexp(fraction, exponent) / unit) * unit;
}

TEST(TF32, RoundsToTenBitsOfFraction) {
  for (std::uint64_t bits = 0; bits < 0x7f7ff000; bits += 997) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    for (const float signed_value : {value, -value}) {
      const tf32 stored = {std::bit_cast<std::uint32_t>(signed_value)};
      ASSERT_EQ(convert<f64>(stored), tf32_by_definition(signed_value)) << signed_value;
      ASSERT_EQ(convert<f32>(stored), tf32_by_definition(signed_value)) << signed_value;
    }
  }
}

TEST(TF32, RoundsTiesToEvenAndKeepsWhatIsNotFinite) {
  const auto rounded = [](std::uint32_t bits) { return std::bit_cast<std::uint32_t>(convert<f32>(tf32{bits})); };
  EXPECT_EQ(rounded(0x3f801000), 0x3f800000u);
  EXPECT_EQ(rounded(0x3f801001), 0x3f802000u);
  EXPECT_EQ(rounded(0x3f803000), 0x3f804000u);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f800000u);
  EXPECT_EQ(rounded(0xff800000), 0xff800000u);
  EXPECT_TRUE(std::isnan(convert<f32>(tf32{0x7f800001})));  // whose bits that are kept are an infinity's
  EXPECT_TRUE(std::isnan(convert<f32>(tf32{0xffffffff})));
}

TEST(BF16, EveryValueIsTheUpperHalfOfAnF32) {
  for (int bits = 0; bits < all_values; ++bits) {
    const auto expected = static_cast<std::uint32_t>(bits) << 16;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(convert<f32>(bf16_of(bits))), expected);
  }
}

TEST(BF16, EveryValueSurvivesTheWayThroughF32AndF64) {
  for (int bits = 0; bits < all_values; ++bits) {
    const f32 value = convert<f32>(bf16_of(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(convert<f32>(convert<bf16>(value)))) << bits;
      EXPECT_TRUE(std::isnan(convert<f32>(convert<bf16>(static_cast<f64>(value))))) << bits;
    } else {
      EXPECT_EQ(convert<bf16>(value).bits, bits);
      EXPECT_EQ(convert<bf16>(convert<f64>(bf16_of(bits))).bits, bits);
    }
  }
}

TEST(BF16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (int low = 0; low < 0x7f7f; ++low) {
    expect_nearest_even<bf16>(low, convert<f64>(bf16_of(low)), convert<f64>(bf16_of(low + 1)));
  }
}

TEST(BF16, KeepsANanWhosePayloadLiesInTheLowerHalf) {
  EXPECT_TRUE(std::isnan(convert<f32>(convert<bf16>(std::bit_cast<f32>(0x7f800001u)))));
}

TEST(RoundToOdd, KeepsWhatFitsAndMarksWhatDoesNot) {
  EXPECT_EQ(round_to_odd(1.5), 1.5f);
  EXPECT_EQ(std::bit_cast<u32>(round_to_odd(1 + 0x1p-30)), std::bit_cast<u32>(1.0f) + 1);
  EXPECT_EQ(std::bit_cast<u32>(round_to_odd(1 - 0x1p-30)), std::bit_cast<u32>(1.0f) - 1);
  EXPECT_EQ(std::bit_cast<u32>(round_to_odd(-1 - 0x1p-30)), std::bit_cast<u32>(-1.0f) + 1);
  EXPECT_EQ(round_to_odd(1e300), std::numeric_limits<f32>::max());
  EXPECT_EQ(round_to_odd(static_cast<f64>(infinity)), infinity);
}

TEST(MultiplyAdd, WrapsAroundInI32) {
  EXPECT_EQ(multiply_add(65536, 65537, 5), 65541);
  EXPECT_EQ(multiply_add(-3, 7, 1), -20);
  EXPECT_EQ(multiply_add(2147483647, 1, 1), -2147483647 - 1);
}

TEST(MultiplyAdd, MultipliesAndAddsInFloats) {
  EXPECT_EQ(multiply_add(1.5f, 2.0f, 0.25f), 3.25f);
  EXPECT_EQ(multiply_add(1.5, -2.0, 0.25), -2.75);
}

}  // namespace
}  // namespace iris::device::numeric_test
