#include "iris/scalar.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace iris {
namespace {

struct ScalarRow {
  std::string_view name;
  std::int64_t bytes;
  std::string_view values;
};

// In the order of the enumeration.
constexpr std::array rows = {
    ScalarRow{"f32", 4, "a number from -3.4e38 to 3.4e38"},
    ScalarRow{"f64", 8, "a number"},
    ScalarRow{"i32", 4, "a whole number from -2147483648 to 2147483647"},
    ScalarRow{"i64", 8, "a whole number from -2^63 to 2^63 - 1"},
    ScalarRow{"u32", 4, "a whole number from 0 to 4294967295"},
    ScalarRow{"u64", 8, "a whole number from 0 to 2^64 - 1"},
    ScalarRow{"bool", 1, "true or false"},
};

const ScalarRow& row_of(ScalarType type) {
  return rows.at(static_cast<std::size_t>(type));
}

template <typename To>
ScalarBytes bytes_of_value(To value) {
  ScalarBytes result;
  std::memcpy(result.bytes.data(), &value, sizeof value);
  return result;
}

/// Whether it is within the limits of an integer type. No double is its largest value, but 2^digits is one.
template <typename To, typename From>
bool fits(From value) {
  if constexpr (std::floating_point<From>) {
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
    return value >= (std::is_signed_v<To> ? -end : 0) && value < end && value == std::trunc(value);
  } else {
    return std::in_range<To>(value);
  }
}

template <typename To, typename From>
std::optional<ScalarBytes> convert(From value) {
  if constexpr (std::same_as<To, bool>) {
    if (!fits<std::uint8_t>(value) || value > 1) return std::nullopt;
  } else if constexpr (std::floating_point<To>) {
    const auto number = static_cast<double>(value);
    if (std::isfinite(number) && std::abs(number) > static_cast<double>(std::numeric_limits<To>::max()))
      return std::nullopt;
  } else if (!fits<To>(value)) {
    return std::nullopt;
  }
  return bytes_of_value(static_cast<To>(value));
}

}  // namespace

std::string_view to_string(ScalarType type) {
  return row_of(type).name;
}

std::optional<ScalarType> scalar_type_from(std::string_view name) {
  const auto* row = std::ranges::find(rows, name, &ScalarRow::name);
  if (row == rows.end()) return std::nullopt;
  return static_cast<ScalarType>(row - rows.begin());
}

std::int64_t bytes_of(ScalarType type) {
  return row_of(type).bytes;
}

std::optional<ScalarBytes> to_bytes(const ScalarValue& value, ScalarType type) {
  return std::visit(
      [type](auto number) -> std::optional<ScalarBytes> {
        switch (type) {
          case ScalarType::f32:
            return convert<float>(number);
          case ScalarType::f64:
            return convert<double>(number);
          case ScalarType::i32:
            return convert<std::int32_t>(number);
          case ScalarType::i64:
            return convert<std::int64_t>(number);
          case ScalarType::u32:
            return convert<std::uint32_t>(number);
          case ScalarType::u64:
            return convert<std::uint64_t>(number);
          case ScalarType::boolean:
            return convert<bool>(number);
        }
        return std::nullopt;
      },
      value.get());
}

std::string to_string(const ScalarValue& value) {
  std::array<char, 32> text{};
  const auto end = std::visit(
      [&](auto number) { return std::to_chars(text.data(), text.data() + text.size(), number); }, value.get());
  return {text.data(), end.ptr};
}

std::string why_not(const ScalarValue& value, ScalarType type) {
  const ScalarRow& row = row_of(type);
  return to_string(value) + " is no " + std::string(row.name) + "; give " + std::string(row.values);
}

}  // namespace iris
