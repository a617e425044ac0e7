#pragma once

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "iris/dtype.hpp"

/// Reading the JSON of a manifest, each error a sentence.
namespace iris {

/// Throws std::runtime_error.
[[noreturn]] inline void refuse_manifest(const std::string& what) {
  throw std::runtime_error("manifest: " + what);
}

/// The members of one object, all of which must be there and no other.
class Members {
 public:
  Members(const nlohmann::ordered_json& object, std::string where, const std::vector<std::string>& keys)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) refuse_manifest(where_ + " must be an object");
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(keys, key) == keys.end()) refuse_manifest("unknown key '" + key + "' in " + where_);
    }
    for (const std::string& key : keys) {
      if (!object.contains(key)) refuse_manifest("key '" + key + "' is missing in " + where_);
    }
  }

  const nlohmann::ordered_json& at(const char* key) const { return object_.at(key); }

  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const {
    const nlohmann::ordered_json& value = at(key);
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{max_integer});
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
      complain(key, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<std::int64_t>();
  }
  int number(const char* key, int least, std::int64_t most = std::numeric_limits<int>::max()) const {
    return static_cast<int>(integer(key, least, most));
  }
  bool boolean(const char* key) const {
    if (!at(key).is_boolean()) complain(key, "true or false");
    return at(key).get<bool>();
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) complain(key, "a string");
    return at(key).get<std::string>();
  }
  std::string identifier(const char* key) const {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
    const std::string name = text(key);
    if (name.empty() || !letter(name[0]) || !std::ranges::all_of(name, allowed)) complain(key, "a C identifier");
    return name;
  }
  std::string sha256(const char* key) const {
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    const std::string digits = text(key);
    if (digits.size() != 64 || !std::ranges::all_of(digits, hex)) complain(key, "64 lower-case hexadecimal digits");
    return digits;
  }
  Dtype dtype(const char* key) const {
    const auto value = dtype_from(text(key));
    if (!value) complain(key, "a dtype");
    return *value;
  }
  Op op(const char* key) const {
    const auto value = op_from(text(key));
    if (!value) complain(key, "an op");
    return *value;
  }
  Layout layout(const char* key) const {
    const auto value = layout_from(text(key));
    if (!value) complain(key, "a layout");
    return *value;
  }

  [[noreturn]] void complain(const char* key, const std::string& wanted) const {
    refuse_manifest("'" + std::string(key) + "' in " + where_ + " must be " + wanted);
  }

 private:
  static constexpr std::int64_t max_integer = std::numeric_limits<std::int64_t>::max();

  const nlohmann::ordered_json& object_;
  std::string where_;
};

}  // namespace iris
