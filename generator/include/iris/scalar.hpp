#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace iris {

/// Types of the numbers that kernels take by value.
enum class ScalarType { f32, f64, i32, i64, u32, u64, boolean };

/// A number that a kernel takes by value: an argument of every launch.
struct Scalar {
  std::string name = {};
  ScalarType type = ScalarType::f32;
  bool operator==(const Scalar&) const = default;
};

/// A number as a launch gives it, of any arithmetic type.
class ScalarValue {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  ScalarValue(T value)  // NOLINT(google-explicit-constructor): a number is one
      : value_(static_cast<Kept<T>>(value)) {}

  const std::variant<std::int64_t, std::uint64_t, double>& get() const { return value_; }
  bool operator==(const ScalarValue&) const = default;

 private:
  template <typename T>
  using Kept = std::conditional_t<std::floating_point<T>, double,
                                  std::conditional_t<std::unsigned_integral<T>, std::uint64_t, std::int64_t>>;
  std::variant<std::int64_t, std::uint64_t, double> value_;
};

/// Numbers by name, such as a launch gives: `{{"alpha", 0.5}, {"steps", 4}}`.
using Scalars = std::map<std::string, ScalarValue, std::less<>>;

/// A number in the memory of a kernel's argument, from its first byte.
struct alignas(std::uint64_t) ScalarBytes {
  std::array<std::byte, sizeof(std::uint64_t)> bytes = {};
};

/// As kernels call it: f32, i64, bool.
std::string_view to_string(ScalarType type);
/// Nothing if there is none of that name.
std::optional<ScalarType> scalar_type_from(std::string_view name);
std::int64_t bytes_of(ScalarType type);

/// Nothing if it is no value of that type: a fraction, or out of its range. What is a float is rounded.
std::optional<ScalarBytes> to_bytes(const ScalarValue& value, ScalarType type);

/// `0.5`
std::string to_string(const ScalarValue& value);

/// Why a value cannot be one of that type, and what can: `0.5 is no i32; give a whole number from …`.
std::string why_not(const ScalarValue& value, ScalarType type);

}  // namespace iris
