#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "irisgen/diagnostic.hpp"

namespace irisgen {

struct Value;
struct Member;

struct Null {};
/// Stands where an error has been reported: whoever meets it keeps quiet, so that one mistake is one message.
struct Invalid {};

using Array = std::vector<Value>;
using Object = std::vector<Member>;  ///< in the order of the text; keys differ

/// A value of JSON's data model and where it stands.
struct Value {
  std::variant<Null, Invalid, bool, std::int64_t, double, std::string, Array, Object> content;
  Position where;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&content);
  }
  template <typename T>
  T* as() {
    return std::get_if<T>(&content);
  }
  bool invalid() const { return as<Invalid>() != nullptr; }

  /// The member of that name, or nullptr; also where this is no object.
  const Value* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Position where;  ///< of the key
  Value value;
};

/// Levels of lists and maps within each other that a document may have.
inline constexpr std::size_t max_depth = 64;

/// YAML or JSON to a tree of values, plain scalars resolved by YAML 1.2's core schema. Anchors, aliases, tags, merge
/// keys, duplicate keys, several documents and numbers that do not fit are errors of their own. Nothing if there is no
/// tree to go on with. `text` has no byte-order mark.
std::optional<Value> parse_document(std::string_view text, Report& report);

}  // namespace irisgen
