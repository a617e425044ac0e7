#include "generator/language/schema.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "generator/language/resources.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

using Json = nlohmann::json;

Json spec_schema() {
  return Json::parse(*resource("schemas/spec.json"));
}

// What the schema says about the text: each message with its place, in the order of places.
std::string check(const std::string& schema, const std::string& text) {
  Report report("t", text);
  auto root = parse_document(text, report);
  if (root) Schema(schema).validate(*root, report);
  std::string messages;
  for (const auto& [where, message] : report.diagnostics()) {
    if (!messages.empty()) messages += "\n";
    messages += std::to_string(where.line) + ":" + std::to_string(where.column) + " " + message;
  }
  return messages;
}

TEST(schema, checks_types) {
  EXPECT_EQ(check(R"({"type": "integer"})", "1"), "");
  EXPECT_EQ(check(R"({"type": "number"})", "1"), "");
  EXPECT_EQ(check(R"({"type": "number"})", "1.5"), "");
  EXPECT_EQ(check(R"({"type": "boolean"})", "true"), "");
  EXPECT_EQ(check(R"({"type": "null"})", "~"), "");
  EXPECT_EQ(check(R"({"type": "integer"})", "x"), "1:1 the document must be an integer, not the string 'x'");
  EXPECT_EQ(check(R"({"type": "boolean"})", "1"), "1:1 the document must be true or false, not 1");
  EXPECT_EQ(check(R"({"type": "string"})", "[]"), "1:1 the document must be a string, not a list");
  EXPECT_EQ(check(R"({"type": "array"})", "{}"), "1:1 the document must be a list, not a map");
  EXPECT_EQ(check(R"({"type": "object"})", "true"), "1:1 the document must be a map, not true");
  EXPECT_EQ(check(R"({"type": "integer"})", "~"), "1:1 the document must be an integer, but has no value");
}

TEST(schema, says_how_to_write_an_integer) {
  EXPECT_EQ(check(R"({"type": "integer"})", "8.0"), "1:1 the document must be an integer, not 8.0; write 8");
  EXPECT_EQ(check(R"({"type": "integer"})", "8.5"), "1:1 the document must be an integer, not 8.5");
  EXPECT_EQ(check(R"({"type": "integer"})", "'8'"),
            "1:1 the document must be an integer, not the string '8'; remove the quotes");
  EXPECT_EQ(check(R"({"type": "integer"})", "1e300"), "1:1 the document must be an integer, not 1e+300");
}

TEST(schema, checks_ranges) {
  const std::string schema = R"({"type": "integer", "minimum": 1, "maximum": 16})";
  EXPECT_EQ(check(schema, "1"), "");
  EXPECT_EQ(check(schema, "16"), "");
  EXPECT_EQ(check(schema, "0"), "1:1 the document must be an integer from 1 to 16, not 0");
  EXPECT_EQ(check(schema, "17"), "1:1 the document must be an integer from 1 to 16, not 17");
  EXPECT_EQ(check(R"({"type": "integer", "minimum": 1})", "0"),
            "1:1 the document must be an integer of at least 1, not 0");
  EXPECT_EQ(check(R"({"type": "integer", "maximum": 1})", "2"),
            "1:1 the document must be an integer of at most 1, not 2");
}

TEST(schema, checks_words) {
  const std::string schema = R"({"title": "a colour", "type": "string", "enum": ["red", "green"]})";
  EXPECT_EQ(check(schema, "green"), "");
  EXPECT_EQ(check(schema, "gren"), "1:1 unknown a colour 'gren'; did you mean 'green'?");
  EXPECT_EQ(check(schema, "1"), "1:1 a colour must be one of: red, green, not 1");
  EXPECT_EQ(check(R"({"const": 1})", "2"), "1:1 the document must be 1, not 2");
}

TEST(schema, checks_strings) {
  const std::string schema =
      R"({"title": "a word", "description": "Letters.", "type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]*$"})";
  EXPECT_EQ(check(schema, "abc"), "");
  EXPECT_EQ(check(schema, "'é'"), "1:1 a word must be a word, not 'é'; letters");
  EXPECT_EQ(check(schema, "''"), "1:1 a word must be a word, not ''; letters");
  EXPECT_EQ(check(schema, "éééé"), "1:1 a word has 4 characters; shorten it to 3 at most");
  EXPECT_EQ(check(schema, std::string(1000000, 'a')), "1:1 a word has 1000000 characters; shorten it to 3 at most");
}

TEST(schema, checks_lists) {
  const std::string schema =
      R"({"type": "array", "minItems": 1, "uniqueItems": true, "items": {"title": "an entry", "type": "integer", "maximum": 9}})";
  EXPECT_EQ(check(schema, "[1, 2]"), "");
  EXPECT_EQ(check(schema, "[]"), "1:1 the document is empty; it needs at least 1 entry");
  EXPECT_EQ(check(schema, "[1, 2, 1]"), "1:8 the document has 1 twice; remove one");
  EXPECT_EQ(check(schema, "[10, x]"),
            "1:2 an entry must be an integer of at most 9, not 10\n"
            "1:6 an entry must be an integer of at most 9, not the string 'x'");
}

TEST(schema, checks_maps) {
  const std::string schema = R"({"title": "a box", "type": "object", "required": ["width", "height"],
    "additionalProperties": false,
    "properties": {"width": {"type": "integer"}, "height": {"type": "integer"},
                   "style": {"type": "object", "properties": {"colour": {"type": "string"}}}}})";
  EXPECT_EQ(check(schema, "{width: 1, height: 2}"), "");
  EXPECT_EQ(check(schema, "{width: 1}"), "1:1 missing key 'height' of a box; add height: an integer");
  EXPECT_EQ(check(schema, "{width: 1, hight: 2}"), "1:12 unknown key 'hight' of a box; did you mean 'height'?");
  EXPECT_EQ(check(schema, "{width: 1, height: 2, colour: x}"),
            "1:23 unknown key 'colour' of a box; it belongs in 'style'");
  EXPECT_EQ(check(schema, "{width: 1, height: 2, zzz: x}"),
            "1:23 unknown key 'zzz' of a box; one of: width, height, style");
}

TEST(schema, chooses_a_branch_by_type) {
  const std::string schema =
      R"({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "enum": ["dynamic"]}]})";
  EXPECT_EQ(check(schema, "1"), "");
  EXPECT_EQ(check(schema, "dynamic"), "");
  EXPECT_EQ(check(schema, "-1"), "1:1 the document must be an integer of at least 0, not -1");
  EXPECT_EQ(check(schema, "dynmic"), "1:1 unknown the document 'dynmic'; did you mean 'dynamic'?");
  EXPECT_EQ(check(schema, "'1'"),
            "1:1 the document must be an integer of at least 0 or dynamic, not the string '1'; remove the quotes");
  EXPECT_EQ(check(schema, "[]"), "1:1 the document must be an integer of at least 0 or dynamic, not a list");
}

TEST(schema, applies_a_condition) {
  const std::string schema = R"({"properties": {"kind": {"type": "string"}, "size": {"type": "string"}}, "allOf": [{
    "if": {"required": ["kind"], "properties": {"kind": {"const": "shirt"}}},
    "then": {"properties": {"size": {"enum": ["small", "large"]}}}}]})";
  EXPECT_EQ(check(schema, "{kind: shirt, size: large}"), "");
  EXPECT_EQ(check(schema, "{kind: shirt}"), "");
  EXPECT_EQ(check(schema, "{kind: shoe, size: 43b}"), "");
  EXPECT_EQ(check(schema, "{size: 43b}"), "");
  EXPECT_EQ(check(schema, "{kind: shirt, size: lage}"), "1:21 unknown size 'lage' for shirt; did you mean 'large'?");
}

TEST(schema, reports_a_value_once) {
  const std::string schema =
      R"({"properties": {"a": {"allOf": [{"type": "integer"}, {"type": "integer"}], "type": "integer"}}})";
  EXPECT_EQ(check(schema, "{a: x}"), "1:5 a must be an integer, not the string 'x'");
  EXPECT_EQ(check(schema, "{a: *x}"), "1:5 aliases are not part of the language; write the value out");
}

TEST(schema, refuses_what_it_does_not_understand) {
  for (const std::string schema :
       {"[]", "{", R"({"oneOf": []})", R"({"type": "integer", "multipleOf": 2})", R"({"patternProperties": {}})",
        R"({"type": "text"})", R"({"additionalProperties": {"type": "string"}})", R"({"pattern": "x"})",
        R"({"$ref": "other.json"})", R"({"$ref": "#/definitions/none"})", R"({"enum": [1.5]})",
        R"({"anyOf": [{"type": "string"}, {"type": "string"}]})", R"({"anyOf": [{}]})",
        R"({"if": {"properties": {}}, "then": {}})", R"({"if": {"minimum": 1, "required": []}, "then": {}})",
        R"({"definitions": {"unused": {}}})",
        R"({"title": "beside", "$ref": "#/definitions/a", "definitions": {"a": {}}})"}) {
    EXPECT_THROW(Schema{schema}, std::logic_error) << schema;
  }
}

// What stands in `if` and `then` is described where it is declared.
void expect_descriptions(const Json& schema, const Json& document, const std::string& path) {
  for (const auto& [key, value] : schema.items()) {
    if (key == "if" || key == "then" || key == "examples") continue;
    const Json properties = key == "properties" ? value : Json::object();
    for (const auto& [name, property] : properties.items()) {
      const std::string reference = property.value("$ref", "");
      const Json& target = reference.empty() ? property : document.at(Json::json_pointer(reference.substr(1)));
      EXPECT_TRUE(target.contains("description")) << path << "/" << name;
    }
    if (value.is_structured()) expect_descriptions(value, document, path + "/" + key);
  }
}

TEST(spec_schema, describes_every_property) {
  expect_descriptions(spec_schema(), spec_schema(), "");
}

TEST(spec_schema, has_examples_that_are_valid) {
  const Json schema = spec_schema();
  for (const Json& example : schema.at("examples")) EXPECT_EQ(check(schema.dump(), example.dump()), "");
}

TEST(spec_schema, lists_the_patterns_of_the_table) {
  const Json named = spec_schema().at("definitions").at("kernel").at("properties").at("pattern").at("enum");
  std::vector<std::string> expected;
  for (const Pattern* pattern : patterns()) expected.emplace_back(pattern->name);
  EXPECT_EQ(named.get<std::vector<std::string>>(), expected);
}

TEST(spec_schema, lists_the_variants_of_the_table) {
  std::map<std::string, std::vector<std::string>> named;
  const Json schema = spec_schema();
  for (const Json& rule : schema.at("definitions").at("kernel").at("allOf")) {
    const auto pattern = rule.at("if").at("properties").at("pattern").at("const").get<std::string>();
    named[pattern] = rule.at("then").at("properties").at("variant").at("enum").get<std::vector<std::string>>();
  }
  std::map<std::string, std::vector<std::string>> expected;
  for (const Pattern* pattern : patterns()) {
    auto& variants = expected[std::string(pattern->name)];
    variants.emplace_back("auto");
    for (const Variant& variant : pattern->variants) variants.emplace_back(variant.name);
  }
  EXPECT_EQ(named, expected);
}

TEST(spec_schema, lists_the_dtypes_and_ops_that_have_names) {
  const Json properties = spec_schema().at("definitions").at("kernel").at("properties");
  for (const Json& name : properties.at("dtype").at("enum")) {
    const auto dtype = dtype_from(name.get<std::string>());
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(to_string(*dtype), name.get<std::string>());
  }
  for (const Json& name : properties.at("accumulate").at("enum")) EXPECT_TRUE(dtype_from(name.get<std::string>()));
  for (const Json& name : properties.at("op").at("enum")) {
    const auto op = op_from(name.get<std::string>());
    ASSERT_TRUE(op) << name;
    EXPECT_EQ(to_string(*op), name.get<std::string>());
  }
  EXPECT_EQ(properties.at("dtype").at("enum").size(), 5U);
  EXPECT_EQ(properties.at("op").at("enum").size(), 4U);
}

TEST(spec_schema, offers_every_key_of_config_to_tune) {
  const Json properties = spec_schema().at("definitions").at("kernel").at("properties");
  const auto keys = [&](const char* of) {
    std::set<std::string> keys;
    for (const auto& [key, value] : properties.at(of).at("properties").items()) keys.insert(key);
    return keys;
  };
  EXPECT_EQ(keys("config"), keys("tune"));
}

}  // namespace
}  // namespace irisgen
