#include "iris/device/platform/fnuz.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace iris::device::fnuz_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The definition in the OCP 8-bit Floating Point Specification, written down without bit tricks.
double by_ocp(unsigned bits) {
  const double sign = bits >= 128 ? -1 : 1;
  const int exponent = static_cast<int>(bits / 8 % 16);
  const double fraction = bits % 8;
  if (exponent == 15 && fraction == 7) return nan;
  return exponent == 0 ? sign * std::ldexp(fraction, -9) : sign * std::ldexp(8 + fraction, exponent - 10);
}

/// As the ISA guide of CDNA 3 defines E4M3 FNUZ.
double by_fnuz(unsigned bits) {
  if (bits == 128) return nan;
  const double sign = bits > 128 ? -1 : 1;
  const int exponent = static_cast<int>(bits / 8 % 16);
  const double fraction = bits % 8;
  return exponent == 0 ? sign * std::ldexp(fraction, -10) : sign * std::ldexp(8 + fraction, exponent - 11);
}

void expect_half(double whole, double half, unsigned bits) {
  if (std::isnan(whole)) {
    EXPECT_TRUE(std::isnan(half)) << bits;
  } else {
    EXPECT_EQ(half, whole / 2) << bits;
  }
}

TEST(Fnuz, HalvesEveryE4M3InEveryByteOfAWord) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    for (unsigned place = 0; place < 32; place += 8) {
      // Beside neighbours that are changed themselves: NaN, -0, the largest, -0.
      constexpr u32 others = 0xff807e80;
      const u32 word = (others & ~(0xffU << place)) | bits << place;
      const u32 changed = platform::halved_as_fnuz(word);
      for (unsigned at = 0; at < 32; at += 8) {
        expect_half(by_ocp(word >> at & 0xff), by_fnuz(changed >> at & 0xff), word >> at & 0xff);
      }
    }
  }
}

}  // namespace
}  // namespace iris::device::fnuz_test
