#include "iris/scalar.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace iris::scalar_test {
namespace {

/// What a kernel finds in the argument; nothing where the value is refused.
template <typename T>
std::optional<T> found(const ScalarValue& value, ScalarType type) {
  const auto bytes = to_bytes(value, type);
  if (!bytes) return std::nullopt;
  T result;
  std::memcpy(&result, bytes->bytes.data(), sizeof result);
  return result;
}

TEST(Scalar, ArrivesAsItsType) {
  EXPECT_EQ(found<float>(0.1, ScalarType::f32), 0.1f);
  EXPECT_EQ(found<double>(0.1, ScalarType::f64), 0.1);
  EXPECT_EQ(found<double>(3, ScalarType::f64), 3.0);
  EXPECT_EQ(found<std::int32_t>(-5.0, ScalarType::i32), -5);
  EXPECT_EQ(found<std::int64_t>(INT64_MIN, ScalarType::i64), INT64_MIN);
  EXPECT_EQ(found<std::uint32_t>(4294967295.0, ScalarType::u32), 4294967295u);
  EXPECT_EQ(found<std::uint64_t>(UINT64_MAX, ScalarType::u64), UINT64_MAX);
  EXPECT_EQ(found<bool>(true, ScalarType::boolean), true);
  EXPECT_EQ(found<bool>(0, ScalarType::boolean), false);
  EXPECT_TRUE(std::isinf(found<float>(std::numeric_limits<double>::infinity(), ScalarType::f32).value()));
}

TEST(Scalar, IsRefusedWhereItsTypeHasNoSuchValue) {
  const std::vector<std::pair<ScalarValue, ScalarType>> wrong = {
      {0.5, ScalarType::i32},
      {3e9, ScalarType::i32},
      {std::int64_t{1} << 31, ScalarType::i32},
      {-1, ScalarType::u32},
      {-1.0, ScalarType::u64},
      {std::ldexp(1.0, 64), ScalarType::u64},
      {std::ldexp(1.0, 63), ScalarType::i64},
      {UINT64_MAX, ScalarType::i64},
      {std::numeric_limits<double>::quiet_NaN(), ScalarType::i64},
      {1e39, ScalarType::f32},
      {2, ScalarType::boolean},
      {0.5, ScalarType::boolean},
  };
  for (const auto& [value, type] : wrong) EXPECT_FALSE(to_bytes(value, type)) << why_not(value, type);
}

TEST(Scalar, HasTypesWithNamesAndSizes) {
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::int64_t>>{
           {"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"u32", 4}, {"u64", 8}, {"bool", 1}}) {
    const auto type = scalar_type_from(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(to_string(*type), name);
    EXPECT_EQ(bytes_of(*type), bytes);
  }
  EXPECT_FALSE(scalar_type_from("bf16"));
}

TEST(Scalar, SaysWhatItsTypeTakes) {
  EXPECT_EQ(why_not(0.5, ScalarType::i32), "0.5 is no i32; give a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(why_not(2, ScalarType::boolean), "2 is no bool; give true or false");
}

}  // namespace
}  // namespace iris::scalar_test
