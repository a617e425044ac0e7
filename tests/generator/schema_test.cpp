#include "generator/language/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "generator/language/resources.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen::schema_test {
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
  for (const auto& [where, message, severity, detail] : report.diagnostics()) {
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
  EXPECT_EQ(check(schema, "gren"), "1:1 unknown colour 'gren'; did you mean 'green'?");
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

TEST(schema, refuses_a_key_that_a_condition_rules_out) {
  const std::string schema = R"({"properties": {"kind": {"type": "string"}, "size": {"type": "string"}}, "allOf": [{
    "if": {"required": ["kind"], "properties": {"kind": {"const": "scarf"}}}, "then": {"properties": {"size": false}}}]})";
  EXPECT_EQ(check(schema, "{kind: scarf}"), "");
  EXPECT_EQ(check(schema, "{kind: shirt, size: large}"), "");
  EXPECT_EQ(check(schema, "{kind: scarf, size: large}"), "1:15 scarf takes no 'size'; remove it");
}

TEST(schema, tells_a_key_that_defaults_may_bring_from_one_that_must_stand_there) {
  const std::string schema = R"({"title": "a box", "type": "object", "requiredWithDefaults": ["width"],
    "properties": {"width": {"type": "integer"}}})";
  EXPECT_EQ(check(schema, "{width: 1}"), "");
  EXPECT_EQ(check(schema, "{}"), "1:1 missing key 'width' of a box; add width: an integer");
}

TEST(schema, reports_a_value_once) {
  const std::string schema =
      R"({"properties": {"a": {"allOf": [{"type": "integer"}, {"type": "integer"}], "type": "integer"}}})";
  EXPECT_EQ(check(schema, "{a: x}"), "1:5 a must be an integer, not the string 'x'");
  EXPECT_EQ(check(schema, "{a: !x 1}"), "1:5 tags are not part of the language; remove it");
}

TEST(schema, refuses_what_it_does_not_understand) {
  for (const std::string schema :
       {"[]", "{", R"({"oneOf": []})", R"({"type": "integer", "multipleOf": 2})", R"({"patternProperties": {}})",
        R"({"type": "text"})", R"({"additionalProperties": 7})", R"({"pattern": "x"})", R"({"$ref": "other.json"})",
        R"({"$ref": "#/definitions/none"})", R"({"enum": [1.5]})",
        R"({"anyOf": [{"type": "string"}, {"type": "string"}]})", R"({"anyOf": [{}]})",
        R"({"if": {"properties": {}}, "then": {}})", R"({"if": {"minimum": 1, "required": []}, "then": {}})",
        R"({"definitions": {"unused": {}}})",
        R"({"title": "beside", "$ref": "#/definitions/a", "definitions": {"a": {}}})"}) {
    EXPECT_THROW(Schema{schema}, std::logic_error) << schema;
  }
}

// Conditions say which keys go together; what a key is stands where it is declared.
void expect_descriptions(const Json& schema, const Json& document, const std::string& path) {
  if (schema.contains("$ref")) {
    const Json& target = document.at(Json::json_pointer(schema.at("$ref").get<std::string>().substr(1)));
    return expect_descriptions(target, document, path);
  }
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, property] : properties.items()) {
    const std::string reference = property.value("$ref", "");
    const Json& target = reference.empty() ? property : document.at(Json::json_pointer(reference.substr(1)));
    EXPECT_TRUE(target.contains("description")) << path << "/" << name;
    expect_descriptions(target, document, path + "/" + name);
  }
  if (schema.contains("items")) expect_descriptions(schema.at("items"), document, path + "[]");
  for (const Json& alternative : schema.value("anyOf", Json::array())) expect_descriptions(alternative, document, path);
}

TEST(spec_schema, describes_every_property) {
  expect_descriptions(spec_schema(), spec_schema(), "");
}

TEST(spec_schema, has_examples_that_are_valid) {
  const Json schema = spec_schema();
  for (const Json& example : schema.at("examples")) EXPECT_EQ(check(schema.dump(), example.dump()), "");
}

// The schema is the authority for what a description may say; the table, for what there is to plan.
TEST(spec_schema, has_the_patterns_and_variants_of_the_table) {
  std::vector<std::string> names;
  for (const Pattern* pattern : patterns()) {
    names.emplace_back(pattern->name);
    std::vector<std::string> variants;
    for (const Variant& variant : pattern->variants) variants.emplace_back(variant.name);
    EXPECT_EQ(keys_of(pattern->name).variants, variants) << pattern->name;
  }
  EXPECT_EQ(pattern_names(), names);
}

TEST(spec_schema, has_the_keys_of_config_that_variants_use) {
  std::set<std::string> used = {"timeout_ms"};
  for (const Pattern* pattern : patterns()) {
    for (const Variant& variant : pattern->variants) used.insert(variant.keys.begin(), variant.keys.end());
  }
  const std::vector<std::string> keys = config_keys();
  EXPECT_EQ(used, std::set<std::string>(keys.begin(), keys.end()));
}

TEST(spec_schema, says_which_keys_a_pattern_takes) {
  EXPECT_EQ(keys_of("all_reduce").extents, (std::vector<std::string>{"m", "n"}));
  EXPECT_EQ(keys_of("matmul_all_reduce").extents, (std::vector<std::string>{"m", "n", "k"}));
  EXPECT_EQ(keys_of("all_gather").shards, (std::vector<std::string>{"m", "n"}));
  EXPECT_TRUE(keys_of("all_reduce").shards.empty());
  for (const std::string& pattern : pattern_names()) {
    const bool reduces = pattern == "all_reduce" || pattern == "reduce_scatter";
    EXPECT_EQ(keys_of(pattern).takes_op, reduces) << pattern;
    EXPECT_EQ(keys_of(pattern).takes_root, pattern == "broadcast") << pattern;
    EXPECT_EQ(keys_of(pattern).takes_layout, pattern.find("matmul") != std::string::npos) << pattern;
    EXPECT_EQ(keys_of(pattern).takes_accumulate, reduces || pattern.find("matmul") != std::string::npos) << pattern;
  }
  EXPECT_THROW(keys_of("gossip"), std::out_of_range);
}

TEST(spec_schema, lists_the_dtypes_and_ops_that_have_names) {
  const Json definitions = spec_schema().at("definitions");
  std::vector<std::string> dtypes;
  for (const Dtype dtype : iris::all_dtypes) dtypes.emplace_back(to_string(dtype));
  EXPECT_EQ(definitions.at("dtype").at("enum").get<std::vector<std::string>>(), dtypes);
  std::vector<std::string> ops;
  for (const Op op : iris::all_ops) ops.emplace_back(to_string(op));
  EXPECT_EQ(definitions.at("op_key").at("anyOf").at(0).at("enum").get<std::vector<std::string>>(), ops);
  for (const Json& name : definitions.at("accumulate_key").at("enum"))
    EXPECT_TRUE(iris::dtype_from(name.get<std::string>()));
}

TEST(spec_schema, offers_every_key_of_config_to_tune_but_the_bound_of_waits) {
  const Json definitions = spec_schema().at("definitions");
  const auto keys = [&](const char* of) {
    std::set<std::string> keys;
    for (const auto& [key, value] : definitions.at(of).at("properties").items()) keys.insert(key);
    return keys;
  };
  std::set<std::string> tuned = keys("config_key");
  tuned.erase("timeout_ms");
  EXPECT_EQ(tuned, keys("tune_key"));
}

TEST(spec_schema, lets_defaults_have_every_key_of_a_kernel_but_its_name) {
  const Json definitions = spec_schema().at("definitions");
  Json of_kernel = definitions.at("kernel").at("properties");
  of_kernel.erase("name");
  EXPECT_EQ(definitions.at("defaults").at("properties"), of_kernel);
}

}  // namespace
}  // namespace irisgen::schema_test
