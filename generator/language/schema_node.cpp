#include "generator/language/schema_node.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace irisgen {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, JsonType>, 7> types = {{
    {"null", JsonType::null},
    {"boolean", JsonType::boolean},
    {"integer", JsonType::integer},
    {"number", JsonType::number},
    {"string", JsonType::string},
    {"array", JsonType::array},
    {"object", JsonType::object},
}};

[[noreturn]] void refuse(const std::string& what) {
  throw std::logic_error("schema: " + what);
}

Literal literal(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_string()) return json.get<std::string>();
  refuse("a constant that is neither an integer nor a string: " + json.dump());
}

class Compiler {
 public:
  explicit Compiler(const Json& document) : document_(document) {}

  SchemaNodes compile() {
    nodes_.root = node(document_);
    const auto defined = document_.contains("definitions") ? document_.at("definitions").size() : 0;
    if (defined != definitions_.size()) refuse("a definition that nothing refers to");
    return std::move(nodes_);
  }

 private:
  using Setter = std::function<void(SchemaNode&, const Json&)>;

  const SchemaNode* node(const Json& json) {
    SchemaNode& node = nodes_.nodes.emplace_back();
    if (json == false) {
      node.never = true;
    } else {
      fill(node, json);
    }
    return &node;
  }

  void fill(SchemaNode& node, const Json& json) {
    if (!json.is_object()) refuse("a schema that is no object: " + json.dump());
    if (json.contains("$ref") && json.size() > 1)
      refuse("keywords beside $ref, which draft-07 ignores: " + json.dump());
    for (const auto& [keyword, value] : json.items()) {
      const auto setter = setters().find(keyword);
      if (setter == setters().end()) refuse("unknown keyword '" + keyword + "'");
      setter->second(node, value);
    }
    if (node.pattern && !node.max_length) refuse("a pattern without maxLength: std::regex recurses on long strings");
    if (json.contains("if")) node.condition = condition(json.at("if"), json.at("then"));
    for (std::size_t i = 0; i < node.any_of.size(); ++i) {
      const auto type = type_of(*node.any_of[i]);
      const auto same = [&](const SchemaNode* other) { return type_of(*other) == type; };
      if (!type || std::count_if(node.any_of.begin(), node.any_of.end(), same) > 1) {
        refuse("branches of anyOf must have types that differ");
      }
    }
  }

  const SchemaNode* reference(const std::string& path) {
    constexpr std::string_view start = "#/definitions/";
    if (!path.starts_with(start)) refuse("$ref to elsewhere than " + std::string(start) + ": " + path);
    const auto [entry, first] = definitions_.try_emplace(path, nullptr);
    if (!first) return entry->second;
    SchemaNode& node = nodes_.nodes.emplace_back();
    entry->second = &node;
    fill(node, document_.at("definitions").at(path.substr(start.size())));
    return &node;
  }

  SchemaCondition condition(const Json& json, const Json& then) {
    if (json.size() == 1 && json.contains("required") && json.at("required").size() == 1) {
      return {json.at("required").front(), std::nullopt, node(then)};
    }
    const auto& properties = json.at("properties");
    if (json.size() != 2 || properties.size() != 1) refuse("an 'if' other than one required key with one constant");
    const auto key = properties.items().begin().key();
    const Json& value = properties.at(key);
    if (json.at("required") != Json::array({key}) || value.size() != 1) refuse("an 'if' without its required key");
    return {key, literal(value.at("const")), node(then)};
  }

  const std::map<std::string, Setter>& setters() {
    const Setter ignored = [](SchemaNode&, const Json&) {};
    if (setters_.empty()) {
      setters_ = {
          {"$schema", ignored},
          {"default", ignored},
          {"examples", ignored},
          {"definitions", ignored},  // compiled where they are referred to
          {"if", ignored},           // compiled with `then`
          {"then", ignored},
          {"title", [](auto& node, auto& json) { node.title = json; }},
          {"description", [](auto& node, auto& json) { node.description = json; }},
          {"type", [](auto& node, auto& json) { node.type = named_type(json); }},
          {"const", [](auto& node, auto& json) { node.allowed = {literal(json)}; }},
          {"enum",
           [](auto& node, auto& json) { std::ranges::transform(json, std::back_inserter(node.allowed), literal); }},
          {"minimum", [](auto& node, auto& json) { node.minimum = json; }},
          {"maximum", [](auto& node, auto& json) { node.maximum = json; }},
          {"minLength", [](auto& node, auto& json) { node.min_length = json; }},
          {"maxLength", [](auto& node, auto& json) { node.max_length = json; }},
          {"minItems", [](auto& node, auto& json) { node.min_items = json; }},
          {"pattern", [](auto& node, auto& json) { node.pattern.emplace(json.template get<std::string>()); }},
          {"uniqueItems", [](auto& node, auto& json) { node.unique_items = json; }},
          {"required", [](auto& node, auto& json) { node.required = json; }},
          {"requiredWithDefaults", [](auto& node, auto& json) { node.required_with_defaults = json; }},
          {"additionalProperties",
           [this](auto& node, auto& json) {
             node.closed = json == false;
             if (!node.closed) node.others = this->node(json);
           }},
          {"propertyNames", [this](auto& node, auto& json) { node.other_names = this->node(json); }},
          {"items", [this](auto& node, auto& json) { node.items = this->node(json); }},
          {"properties",
           [this](auto& node, auto& json) {
             for (const auto& [key, value] : json.items()) node.properties.emplace_back(key, this->node(value));
           }},
          {"$ref", [this](auto& node, auto& json) { node.all_of.push_back(reference(json)); }},
          {"anyOf",
           [this](auto& node, auto& json) {
             for (const auto& branch : json) node.any_of.push_back(this->node(branch));
           }},
          {"allOf",
           [this](auto& node, auto& json) {
             for (const auto& part : json) node.all_of.push_back(this->node(part));
           }},
      };
    }
    return setters_;
  }

  static JsonType named_type(const Json& json) {
    const auto name = json.get<std::string>();
    const auto* row = std::ranges::find(types, std::string_view(name), &decltype(types)::value_type::first);
    if (row == types.end()) refuse("unknown type '" + name + "'");
    return row->second;
  }

  const Json& document_;
  SchemaNodes nodes_;
  std::map<std::string, const SchemaNode*> definitions_;
  std::map<std::string, Setter> setters_;
};

std::string range(const SchemaNode& node) {
  if (node.minimum && node.maximum) {
    return " from " + std::to_string(*node.minimum) + " to " + std::to_string(*node.maximum);
  }
  if (node.minimum) return " of at least " + std::to_string(*node.minimum);
  if (node.maximum) return " of at most " + std::to_string(*node.maximum);
  return "";
}

std::string list(const std::vector<Literal>& literals) {
  if (literals.size() == 1) return to_string(literals.front());
  std::string text = "one of: ";
  for (std::size_t i = 0; i < literals.size(); ++i) text += (i > 0 ? ", " : "") + to_string(literals[i]);
  return text;
}

std::string type_phrase(JsonType type, const SchemaNode& node) {
  switch (type) {
    case JsonType::null:
      return "null";
    case JsonType::boolean:
      return "true or false";
    case JsonType::integer:
      return "an integer" + range(node);
    case JsonType::number:
      return "a number" + range(node);
    case JsonType::string:
      return "a string";
    case JsonType::array:
      return "a list";
    case JsonType::object:
      return "a map";
  }
  return "";
}

}  // namespace

const SchemaNode* SchemaNode::property(std::string_view name) const {
  const auto found = std::ranges::find(properties, name, [](const auto& entry) { return entry.first; });
  if (found != properties.end()) return found->second;
  for (const SchemaNode* part : all_of) {
    if (const SchemaNode* inherited = part->property(name)) return inherited;
  }
  return nullptr;
}

std::vector<std::string_view> SchemaNode::property_names() const {
  std::vector<std::string_view> names;
  names.reserve(properties.size());
  for (const auto& [name, node] : properties) names.push_back(name);
  return names;
}

SchemaNodes compile_schema(std::string_view json) {
  try {
    const Json document = Json::parse(json);
    return Compiler(document).compile();
  } catch (const Json::exception& problem) {
    refuse(problem.what());
  }
}

std::optional<JsonType> type_of(const SchemaNode& node) {
  if (node.type) return node.type;
  for (const SchemaNode* part : node.all_of) {
    if (const auto type = type_of(*part)) return type;
  }
  return std::nullopt;
}

std::string expected(const SchemaNode& node) {
  if (!node.any_of.empty()) {
    std::string text;
    for (const SchemaNode* branch : node.any_of) text += (text.empty() ? "" : " or ") + expected(*branch);
    return text;
  }
  if (!node.allowed.empty()) return list(node.allowed);
  if (node.pattern) return node.title.empty() ? "a string of another form" : node.title;
  if (node.type) return type_phrase(*node.type, node);
  for (const SchemaNode* part : node.all_of) return expected(*part);
  return "something else";
}

std::string to_string(const Literal& literal) {
  if (const auto* number = std::get_if<std::int64_t>(&literal)) return std::to_string(*number);
  return std::get<std::string>(literal);
}

}  // namespace irisgen
