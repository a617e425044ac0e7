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
  Value* find(std::string_view key);
};

struct Member {
  std::string key;
  Position where;  ///< of the key
  Value value;
};

/// The text that a value is, or nullptr; also where there is no value.
const std::string* text_of(const Value* value);

/// Levels of lists and maps within each other that a document may have.
inline constexpr std::size_t max_depth = 64;

/// Values that a document's anchors and aliases may stand for, all together.
inline constexpr std::size_t max_copied_values = std::size_t{1} << 20;

/// YAML or JSON to a tree of values, plain scalars resolved by YAML 1.2's core schema. An alias becomes a copy of what
/// its anchor stands for, with the places of the original; a merge key (`<<`) brings in the members of a map, or of
/// each of a list of maps, that the map does not have itself. Tags, duplicate keys, several documents and numbers that
/// do not fit are errors of their own. Nothing if there is no tree to go on with. `text` has no byte-order mark.
std::optional<Value> parse_document(std::string_view text, Report& report);

}  // namespace irisgen
