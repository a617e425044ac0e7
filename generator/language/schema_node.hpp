#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace irisgen {

enum class JsonType { null, boolean, integer, number, string, array, object };

/// A value that `const` and `enum` compare with.
using Literal = std::variant<std::int64_t, std::string>;

struct SchemaNode;

/// `if` an object has this key, with this constant where one is named, `then` another schema holds for it as well.
struct SchemaCondition {
  std::string key;
  std::optional<Literal> value;
  const SchemaNode* then = nullptr;
};

/// One schema of a JSON Schema document, its references resolved. Absent keywords are empty.
struct SchemaNode {
  std::string title;
  std::optional<JsonType> type;
  std::vector<Literal> allowed;  ///< enum, or the single value of const
  std::optional<std::int64_t> minimum, maximum;
  std::optional<std::size_t> min_length, max_length, min_items;
  std::optional<std::regex> pattern;
  std::string description;
  bool unique_items = false;
  bool closed = false;                      ///< additionalProperties: false
  const SchemaNode* others = nullptr;       ///< additionalProperties: a schema
  const SchemaNode* other_names = nullptr;  ///< propertyNames
  bool never = false;                       ///< the schema `false`: nothing may stand here
  const SchemaNode* items = nullptr;
  std::vector<std::pair<std::string, const SchemaNode*>> properties;  ///< in the order of the document
  std::vector<std::string> required;
  /// Required once what is shared has been filled in; `a|b`: one of both.
  std::vector<std::string> required_with_defaults;
  std::vector<const SchemaNode*> any_of, all_of;  ///< $ref stands in all_of
  std::optional<SchemaCondition> condition;

  /// Its own or of what it refers to; nullptr if there is none of that name.
  const SchemaNode* property(std::string_view name) const;
  std::vector<std::string_view> property_names() const;
};

/// A compiled document; the nodes point to each other.
struct SchemaNodes {
  std::deque<SchemaNode> nodes;
  const SchemaNode* root = nullptr;
};

/// Throws std::logic_error naming what it does not understand.
SchemaNodes compile_schema(std::string_view json);

/// The type that a schema asks for, its own or that of what it refers to.
std::optional<JsonType> type_of(const SchemaNode& node);

/// What a schema asks for, as a phrase: an integer from 1 to 16, one of: f64, f32 …
std::string expected(const SchemaNode& node);

std::string to_string(const Literal& literal);

}  // namespace irisgen
