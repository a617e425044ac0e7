#include "iris/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace iris {

namespace {

/// A float format of 16 bits or fewer: how many bits of the fraction are stored, and the exponents that it has.
struct SmallFormat {
  int fraction_bits;
  int min_exponent;  ///< of the smallest normal number
  int max_exponent;  ///< of the largest finite number
  int bias() const { return 1 - min_exponent; }
  std::uint16_t infinity() const { return static_cast<std::uint16_t>((2 * bias() + 1) << fraction_bits); }
};

constexpr SmallFormat f16_format{.fraction_bits = 10, .min_exponent = -14, .max_exponent = 15};
constexpr SmallFormat bf16_format{.fraction_bits = 7, .min_exponent = -126, .max_exponent = 127};

/// Rounds to nearest even by way of exact float64 arithmetic: scaled so that one unit is the format's last place, the
/// value is rounded by nearbyint (whose mode is the default one), and the integer that results is the pattern.
std::uint16_t encode(double value, const SmallFormat& format) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | format.infinity() | 1u << (format.fraction_bits - 1));
  }
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | format.infinity());
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), format.min_exponent);
  if (exponent > format.max_exponent) return static_cast<std::uint16_t>(sign | format.infinity());
  const auto places =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  // A carry out of the fraction moves on into the exponent, up to infinity, as it must. A subnormal has no hidden bit.
  const auto biased = static_cast<std::uint32_t>(exponent - format.min_exponent);
  return static_cast<std::uint16_t>(sign | ((biased << format.fraction_bits) + places));
}

/// Of a pattern without its sign, of a number.
double decode_magnitude(int bits, const SmallFormat& format) {
  const int hidden = 1 << format.fraction_bits;
  const int fraction = bits & (hidden - 1);
  const int biased = bits >> format.fraction_bits;
  if (biased == 0) return std::ldexp(fraction, format.min_exponent - format.fraction_bits);
  return std::ldexp(hidden + fraction, biased - format.bias() - format.fraction_bits);
}

double decode(std::uint16_t bits, const SmallFormat& format) {
  const int magnitude = bits & 0x7fff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (magnitude > format.infinity()) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == format.infinity()) return sign * std::numeric_limits<double>::infinity();
  return sign * decode_magnitude(magnitude, format);
}

/// E4M3, whose largest exponent has numbers, too, and one NaN. What is larger than 448 becomes that, as conversions on
/// GPUs saturate.
constexpr int e4m3_nan = 0x7f;
constexpr SmallFormat e4m3_format{.fraction_bits = 3, .min_exponent = -6, .max_exponent = 8};

std::uint8_t encode_e4m3(double value) {
  constexpr double largest = 448;
  const int sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | e4m3_nan);
  return static_cast<std::uint8_t>(sign | encode(std::min(std::fabs(value), largest), e4m3_format));
}

double decode_e4m3(std::uint8_t bits) {
  const int magnitude = bits & 0x7f;
  if (magnitude == e4m3_nan) return std::numeric_limits<double>::quiet_NaN();
  const double value = decode_magnitude(magnitude, e4m3_format);
  return (bits & 0x80) != 0 ? -value : value;
}

/// The integer that has the value's last 32 bits.
std::int32_t wrap(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("i32 has no infinity and no NaN");
  double rest = std::fmod(std::trunc(value), 0x1p32);
  if (rest < 0) rest += 0x1p32;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(rest));
}

/// Calls `use` with functions that turn a double into the dtype's storage type and back.
template <typename Use>
auto with_dtype(Dtype dtype, Use use) {
  switch (dtype) {
    case Dtype::f64:
      return use([](double value) { return value; }, [](double stored) { return stored; });
    case Dtype::f32:
    case Dtype::tf32:  // as it lies in memory
      return use([](double value) { return static_cast<float>(value); }, [](float stored) { return double{stored}; });
    case Dtype::f16:
      return use([](double value) { return encode(value, f16_format); },
                 [](std::uint16_t stored) { return decode(stored, f16_format); });
    case Dtype::bf16:
      return use([](double value) { return encode(value, bf16_format); },
                 [](std::uint16_t stored) { return decode(stored, bf16_format); });
    case Dtype::e4m3:
      return use(encode_e4m3, decode_e4m3);
    case Dtype::i32:
      break;
  }
  return use(wrap, [](std::int32_t stored) { return static_cast<double>(stored); });
}

struct Deviation {
  double error;
  bool wrong;
  double severity;
};

constexpr Deviation none = {.error = 0, .wrong = false, .severity = 0};
constexpr Deviation of_nan = {.error = std::numeric_limits<double>::quiet_NaN(),
                              .wrong = true,
                              .severity = std::numeric_limits<double>::infinity()};

Deviation deviation(double actual, double expected, double tolerance, Dtype dtype) {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) == std::isnan(expected) ? none : of_nan;
  if (actual == expected) return none;
  const double outermost = expected + std::copysign(tolerance, actual);
  if (std::isinf(actual) && !std::isinf(expected) && round_to(outermost, dtype) == actual) return none;
  const double error = std::fabs(actual - expected);
  const bool wrong = !(error <= tolerance);
  return {.error = error,
          .wrong = wrong,
          .severity = tolerance > 0 ? error / tolerance : std::numeric_limits<double>::infinity()};
}

/// Whether an element is as it was before a launch.
bool is_poisoned(std::span<const std::byte> element, Dtype dtype) {
  return std::ranges::all_of(element, [&](std::byte byte) { return byte == std::byte{poison_byte(dtype)}; });
}

}  // namespace

std::vector<std::byte> to_bytes(std::span<const double> values, Dtype dtype) {
  return with_dtype(dtype, [&](auto store, auto) {
    using Stored = decltype(store(0.0));
    std::vector<std::byte> bytes(values.size() * sizeof(Stored));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Stored stored = store(values[i]);
      std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
    }
    return bytes;
  });
}

irisgen::Values to_values(std::span<const std::byte> bytes, Dtype dtype) {
  return with_dtype(dtype, [&](auto store, auto load) {
    using Stored = decltype(store(0.0));
    if (bytes.size() % sizeof(Stored) != 0) {
      throw std::invalid_argument(std::to_string(bytes.size()) + " bytes are no whole number of " +
                                  std::string(to_string(dtype)) + " elements");
    }
    irisgen::Values values(bytes.size() / sizeof(Stored));
    for (std::size_t i = 0; i < values.size(); ++i) {
      Stored stored;
      std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
      values[i] = load(stored);
    }
    return values;
  });
}

double round_to(double value, Dtype dtype) {
  return with_dtype(dtype, [&](auto store, auto load) -> double { return load(store(value)); });
}

unsigned char poison_byte(Dtype dtype) {
  return dtype == Dtype::i32 ? 0xa5 : 0xff;
}

Comparison compare(std::span<const std::byte> actual, Dtype dtype, const irisgen::Expectation& expected) {
  const irisgen::Values values = to_values(actual, dtype);
  if (values.size() != expected.value.size() || values.size() != expected.tolerance.size()) {
    throw std::invalid_argument("a buffer of " + std::to_string(values.size()) + " elements is compared with " +
                                std::to_string(expected.value.size()) + " expected values");
  }
  const auto element_bytes = static_cast<std::size_t>(bytes_of(dtype));  // of 1 the poison is the only negative NaN
  Comparison result;
  double worst = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Deviation found = deviation(values[i], expected.value[i], expected.tolerance[i], dtype);
    if (element_bytes > 1 && std::isnan(expected.value[i]) &&
        is_poisoned(actual.subspan(i * element_bytes, element_bytes), dtype)) {
      found = of_nan;
    }
    if (found.wrong) ++result.wrong;
    if (found.severity <= worst) continue;
    worst = found.severity;
    result.index = static_cast<std::int64_t>(i);
    result.actual = values[i];
    result.expected = expected.value[i];
    result.error = found.error;
    result.tolerance = expected.tolerance[i];
    result.severity = found.severity;
  }
  return result;
}

}  // namespace iris
