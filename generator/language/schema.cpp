#include "generator/language/schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "generator/language/scalar.hpp"
#include "generator/language/schema_node.hpp"
#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

JsonType type_of(const Value& value) {
  constexpr std::array types = {JsonType::null,   JsonType::null,   JsonType::boolean, JsonType::integer,
                                JsonType::number, JsonType::string, JsonType::array,   JsonType::object};
  static_assert(types.size() == std::variant_size_v<decltype(Value::content)>);
  return types[value.content.index()];
}

bool accepts(std::optional<JsonType> wanted, const Value& value) {
  if (!wanted) return true;
  const JsonType type = type_of(value);
  return type == *wanted || (*wanted == JsonType::number && type == JsonType::integer);
}

std::optional<Literal> as_literal(const Value& value) {
  if (const auto* number = value.as<std::int64_t>()) return *number;
  if (const auto* text = value.as<std::string>()) return *text;
  return std::nullopt;
}

// A float as the user may have written it: never without a point or an exponent.
std::string shown(double number) {
  std::array<char, 32> digits = {};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  std::string text(digits.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// Of a value that is there.
std::string found(const Value& value) {
  if (const auto* yes = value.as<bool>()) return *yes ? "true" : "false";
  if (const auto* number = value.as<std::int64_t>()) return std::to_string(*number);
  if (const auto* number = value.as<double>()) return shown(*number);
  if (const auto* text = value.as<std::string>()) return "the string " + in_quotes(*text);
  if (value.as<Array>()) return "a list";
  return "a map";
}

// What to write instead of a value of the wrong type, where that can be told.
std::string remedy(bool integer_wanted, const Value& value) {
  if (!integer_wanted) return "";
  if (const auto* text = value.as<std::string>()) {
    const bool integer = std::holds_alternative<std::int64_t>(resolve_plain(*text).content);
    return integer ? "; remove the quotes" : "";
  }
  const auto* number = value.as<double>();
  constexpr double exact = 9007199254740992.0;  // 2^53: integers up to here are doubles
  const bool whole = number && std::abs(*number) <= exact && *number == std::floor(*number);
  return whole ? "; write " + std::to_string(static_cast<std::int64_t>(*number)) : "";
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// What an error calls a value: its key, and the choice that the rule depends on ("variant", " for all_reduce").
struct Name {
  std::string_view label;
  std::string_view context;
};

class Checker {
 public:
  explicit Checker(Report& report) : report_(report) {}

  void check(const SchemaNode& node, Value& value, const Name& name) {
    if (value.invalid() || report_.full()) return;
    // What a kernel lacks may stand in the defaults, and what these lack in the kernels.
    const bool enforced = std::exchange(enforces_defaults_, enforces_defaults_ && node.title != "defaults");
    check_value(node, value, name);
    enforces_defaults_ = enforced;
  }

 private:
  void check_value(const SchemaNode& node, Value& value, const Name& name) {
    if (!node.any_of.empty()) return check_any(node, value, name);
    if (!accepts(node.type, value)) return wrong_type(node, value, name);
    for (const SchemaNode* part : node.all_of) check(*part, value, name);
    if (!node.allowed.empty()) check_allowed(node, value, name);
    if (auto* number = value.as<std::int64_t>()) check_range(node, *number, value, name);
    if (auto* text = value.as<std::string>()) check_string(node, *text, value, name);
    if (auto* array = value.as<Array>()) check_array(node, *array, value, name);
    if (value.as<Object>()) check_object(node, value, name);
  }

  void fail(Value& value, const std::string& message) {
    report_.error(value.where, message);
    value.content = Invalid{};
  }

  void check_any(const SchemaNode& node, Value& value, const Name& name) {
    const auto branch = std::ranges::find_if(
        node.any_of, [&](const SchemaNode* candidate) { return accepts(irisgen::type_of(*candidate), value); });
    if (branch == node.any_of.end() || is_other_word(node, **branch, value)) return wrong_type(node, value, name);
    check(**branch, value, name);
  }

  // A word that is not even near those that stand beside numbers.
  static bool is_other_word(const SchemaNode& node, const SchemaNode& branch, const Value& value) {
    const auto* text = value.as<std::string>();
    const auto is_integer = [](const SchemaNode* other) { return irisgen::type_of(*other) == JsonType::integer; };
    return text && std::ranges::any_of(node.any_of, is_integer) && !branch.allowed.empty() &&
           !nearest(*text, words_of(branch));
  }

  // `a dtype` → `dtype`.
  static std::string_view without_article(std::string_view label) {
    for (const std::string_view article : {"a ", "an "}) {
      if (label.starts_with(article)) return label.substr(article.size());
    }
    return label;
  }

  static std::vector<std::string_view> words_of(const SchemaNode& node) {
    std::vector<std::string_view> words;
    for (const Literal& allowed : node.allowed) {
      if (const auto* word = std::get_if<std::string>(&allowed)) words.emplace_back(*word);
    }
    return words;
  }

  void wrong_type(const SchemaNode& node, Value& value, const Name& name) {
    const auto is_integer = [](const SchemaNode* branch) { return irisgen::type_of(*branch) == JsonType::integer; };
    const bool integer_wanted = is_integer(&node) || std::ranges::any_of(node.any_of, is_integer);
    const std::string wanted = std::string(name.label) + " must be " + expected(node);
    fail(value, value.as<Null>() ? wanted + ", but has no value"
                                 : wanted + ", not " + found(value) + remedy(integer_wanted, value));
  }

  void check_allowed(const SchemaNode& node, Value& value, const Name& name) {
    const auto literal = as_literal(value);
    if (literal && std::ranges::find(node.allowed, *literal) != node.allowed.end()) return;
    const auto* text = value.as<std::string>();
    if (!text) return wrong_type(node, value, name);
    const std::string context = name.context.empty() ? "" : " for " + std::string(name.context);
    fail(value, "unknown " + std::string(without_article(name.label)) + " " + in_quotes(*text) + context +
                    suggestion(*text, words_of(node)));
  }

  void check_range(const SchemaNode& node, std::int64_t number, Value& value, const Name& name) {
    const bool small = node.minimum && number < *node.minimum;
    const bool large = node.maximum && number > *node.maximum;
    if (small || large) wrong_type(node, value, name);
  }

  void check_string(const SchemaNode& node, const std::string& text, Value& value, const Name& name) {
    const std::size_t length = code_points(text);
    if (node.max_length && length > *node.max_length) {
      return fail(value, std::string(name.label) + " has " + std::to_string(length) + " characters; shorten it to " +
                             std::to_string(*node.max_length) + " at most");
    }
    const bool empty = node.min_length && length < *node.min_length;
    if (!empty && !(node.pattern && !std::regex_match(text, *node.pattern))) return;
    fail(value, std::string(name.label) + " must be " + expected(node) + ", not " + in_quotes(text) + "; " +
                    lower_first(node.description));
  }

  static std::string lower_first(std::string text) {
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
    if (text.ends_with('.')) text.pop_back();
    return text;
  }

  void check_array(const SchemaNode& node, Array& array, Value& value, const Name& name) {
    if (node.min_items && array.size() < *node.min_items) {
      const std::string least = std::to_string(*node.min_items);
      return fail(value, std::string(name.label) + (array.empty() ? " is empty" : " is too short") +
                             "; it needs at least " + least + (least == "1" ? " entry" : " entries"));
    }
    if (!node.items) return;
    const std::string_view title = title_of(*node.items);
    std::set<Literal> seen;
    for (Value& item : array) {
      if (report_.full()) return;
      check(*node.items, item, {title.empty() ? name.label : title, {}});
      const auto literal = as_literal(item);
      if (!node.unique_items || !literal || seen.insert(*literal).second) continue;
      fail(item, std::string(name.label) + " has " + to_string(*literal) + " twice; remove one");
    }
  }

  void check_object(const SchemaNode& node, Value& value, const Name& name) {
    auto& object = *value.as<Object>();
    std::set<std::string_view> misspelt;
    for (Member& member : object) {
      const SchemaNode* property = node.property(member.key);
      if (property && property->never) {
        refuse_key(member, name);
      } else if (property) {
        check(*property, member.value, {member.key, name.context});
      } else if (node.closed && !report_.full()) {
        if (const auto meant = unknown_key(node, member, name)) misspelt.insert(*meant);
      } else if (node.others) {
        check_other(node, member);
      }
    }
    for (const std::string& key : node.required) check_required(node, key, value, name, misspelt);
    if (enforces_defaults_) {
      for (const std::string& key : node.required_with_defaults) check_required(node, key, value, name, misspelt);
    }
    check_condition(node, value, name);
  }

  // A member whose name is the user's own.
  void check_other(const SchemaNode& node, Member& member) {
    if (node.other_names) {
      Value key = {member.key, member.where};
      check(*node.other_names, key, {"a name", {}});
      if (key.invalid()) member.value.content = Invalid{};
    }
    check(*node.others, member.value, {member.key, {}});
  }

  void check_required(const SchemaNode& node, const std::string& keys, const Value& value, const Name& name,
                      const std::set<std::string_view>& misspelt) {
    const std::string key = keys.substr(0, keys.find('|'));
    if (value.find(key) || misspelt.contains(key)) return;
    if (key != keys && value.find(keys.substr(key.size() + 1))) return;
    std::string message = "missing key '" + key + "' of ";
    message.append(label_of(node, name));
    if (!name.context.empty() && name.context != label_of(node, name)) message.append(" for ").append(name.context);
    message.append("; add ").append(key).append(": ").append(expected(*node.property(key)));
    if (key != keys) message.append(", or ").append(keys.substr(key.size() + 1)).append(": for a kernel of your own");
    report_.error(value.where, std::move(message));
  }

  // "all_gather takes no 'op'; remove it".
  void refuse_key(Member& member, const Name& name) {
    const std::string_view who = name.context.empty() ? name.label : name.context;
    if (!member.value.invalid()) {
      report_.error(member.where, std::string(who) + " takes no '" + member.key + "'; remove it");
    }
    member.value.content = Invalid{};
  }

  void check_condition(const SchemaNode& node, Value& value, const Name& name) {
    if (!node.condition) return;
    const Value* choice = value.find(node.condition->key);
    if (!choice || (node.condition->value && as_literal(*choice) != node.condition->value)) return;
    const std::string context = node.condition->value ? to_string(*node.condition->value) : node.condition->then->title;
    check(*node.condition->then, value, {name.label, context});
  }

  // Reports the key; returns the one that was meant, if that can be told.
  std::optional<std::string_view> unknown_key(const SchemaNode& node, Member& member, const Name& name) {
    const auto words = node.property_names();
    std::string hint;
    if (!nearest(member.key, words)) hint = home_of(node, member.key);
    if (hint.empty()) hint = suggestion(member.key, words);
    report_.error(member.where,
                  "unknown key " + in_quotes(member.key) + " of " + std::string(label_of(node, name)) + hint);
    member.value.content = Invalid{};
    return nearest(member.key, words);
  }

  // Where a key belongs that stands one level too high.
  static std::string home_of(const SchemaNode& node, std::string_view key) {
    for (const auto& [name, property] : node.properties) {
      if (property->property(key)) return "; it belongs in '" + name + "'";
    }
    return "";
  }

  static std::string_view title_of(const SchemaNode& node) {
    if (!node.title.empty()) return node.title;
    return node.all_of.empty() ? std::string_view() : title_of(*node.all_of.front());
  }

  static std::string_view label_of(const SchemaNode& node, const Name& name) {
    return node.title.empty() ? name.label : node.title;
  }

  Report& report_;
  bool enforces_defaults_ = true;
};

}  // namespace

Schema::Schema(std::string_view json) : nodes_(std::make_unique<SchemaNodes>(compile_schema(json))) {}
Schema::Schema(Schema&&) noexcept = default;
Schema::~Schema() = default;

void Schema::validate(Value& root, Report& report) const {
  const SchemaNode& node = *nodes_->root;
  Checker(report).check(node, root, {node.title.empty() ? "the document" : node.title, {}});
}

}  // namespace irisgen
