#include "generator/language/document.hpp"

#include <gtest/gtest.h>

#include "generator/language/scalar.hpp"

namespace irisgen::document_test {
namespace {

// The document in one line, each scalar with its kind: i8 integer, n8.5 number, 'text' string, ? invalid.
std::string show(const Value& value) {
  if (value.as<Null>()) return "null";
  if (const auto* yes = value.as<bool>()) return *yes ? "true" : "false";
  if (const auto* number = value.as<std::int64_t>()) return "i" + std::to_string(*number);
  if (const auto* number = value.as<double>()) return "n" + std::to_string(*number);
  if (const auto* text = value.as<std::string>()) return "'" + *text + "'";
  std::string text;
  if (const auto* array = value.as<Array>()) {
    for (const Value& item : *array) text += (text.empty() ? "" : ", ") + show(item);
    return "[" + text + "]";
  }
  if (const auto* object = value.as<Object>()) {
    for (const Member& member : *object) text += (text.empty() ? "" : ", ") + member.key + ": " + show(member.value);
    return "{" + text + "}";
  }
  return "?";
}

struct Parsed {
  std::optional<Value> root;
  std::vector<Diagnostic> errors;

  std::string shown() const { return root ? show(*root) : "nothing"; }
  std::vector<std::string> places() const {
    std::vector<std::string> places;
    for (const auto& [where, message, severity, detail] : errors) {
      places.push_back(std::to_string(where.line) + ":" + std::to_string(where.column));
    }
    return places;
  }
};

Parsed parse(const std::string& text) {
  Report report("test.yaml", text);
  Parsed parsed;
  parsed.root = parse_document(text, report);
  parsed.errors = report.diagnostics();
  return parsed;
}

using Places = std::vector<std::string>;

TEST(document, reads_yaml_and_json_alike) {
  const std::string expected = "{a: i1, b: ['x', {c: true, d: null}]}";
  EXPECT_EQ(parse("a: 1\nb:\n  - x\n  - c: true\n    d:\n").shown(), expected);
  EXPECT_EQ(parse(R"({"a": 1, "b": ["x", {"c": true, "d": null}]})").shown(), expected);
  EXPECT_EQ(parse("%YAML 1.2\n---\n{a: 1, b: [x, {c: true, d: ~}]}\n...\n").shown(), expected);
  EXPECT_EQ(parse("a: 1\r\nb:\r\n- x\r\n- c: true\r\n  d: null\r\n").shown(), expected);
}

TEST(document, resolves_plain_scalars_by_the_core_schema) {
  const auto resolve = [](const std::string& text) { return show({resolve_plain(text).content, {}}); };
  EXPECT_EQ(resolve("12"), "i12");
  EXPECT_EQ(resolve("-12"), "i-12");
  EXPECT_EQ(resolve("+12"), "i12");
  EXPECT_EQ(resolve("0"), "i0");
  EXPECT_EQ(resolve("-0"), "i0");
  EXPECT_EQ(resolve("0x1F"), "i31");
  EXPECT_EQ(resolve("0o17"), "i15");
  EXPECT_EQ(resolve("9223372036854775807"), "i9223372036854775807");
  EXPECT_EQ(resolve("-9223372036854775808"), "i-9223372036854775808");
  EXPECT_EQ(resolve("8.0"), "n8.000000");
  EXPECT_EQ(resolve("+.5"), "n0.500000");
  EXPECT_EQ(resolve("1e3"), "n1000.000000");
  EXPECT_EQ(resolve("5."), "n5.000000");
  EXPECT_EQ(resolve("TRUE"), "true");
  for (const std::string word : {"yes", "no",    "on", "tRUE", "1_000", "0b1", "-0x1",     "0o8",  "0xg", "1e",
                                 ".",   "1.2.3", "-",  "+",    "e5",    "NaN", "Infinity", "nULL", "12a", "- 1"}) {
    EXPECT_EQ(resolve(word), "'" + word + "'");
  }
}

TEST(document, refuses_numbers_that_do_not_fit) {
  for (const std::string number : {"9223372036854775808", "-9223372036854775809", "0x8000000000000000", "1e999",
                                   "-1e999", ".nan", ".inf", "-.INF", "007", "-01", "00"}) {
    const Scalar scalar = resolve_plain(number);
    EXPECT_TRUE(std::holds_alternative<Invalid>(scalar.content)) << number;
    EXPECT_NE(scalar.error.find(number.substr(number == "-01" ? 1 : 0)), std::string::npos) << scalar.error;
  }
}

TEST(document, takes_quoted_scalars_for_strings) {
  EXPECT_EQ(parse("[\"8\", '8', \"true\", '', \"~\"]").shown(), "['8', '8', 'true', '', '~']");
  EXPECT_EQ(parse("a: |\n  8\n").shown(), "{a: '8\n'}");
}

TEST(document, reads_surrogate_pairs_and_keeps_the_places_after_them) {
  const Parsed parsed = parse(R"(["\uD83D\uDE00\ud83d\ude00", "\\uD83D", "é", x])");
  EXPECT_EQ(parsed.shown(), "['😀😀', '\\uD83D', 'é', 'x']");
  const auto& items = *parsed.root->as<Array>();
  EXPECT_EQ(items[1].where, (Position{1, 30}));
  EXPECT_EQ(items[3].where, (Position{1, 46}));
}

TEST(document, refuses_lone_surrogates) {
  for (const std::string text : {R"("\uD83D")", R"("\uDE00\uD83D")", R"("\uD83D\\uDE00")", R"("\uD83Dx\uDE00")"}) {
    const Parsed parsed = parse(text);
    EXPECT_EQ(parsed.shown(), "nothing") << text;
    ASSERT_EQ(parsed.errors.size(), 1U);
    EXPECT_NE(parsed.errors[0].message.find("surrogate"), std::string::npos) << parsed.errors[0].message;
  }
}

TEST(document, counts_columns_in_code_points) {
  const Parsed parsed = parse("größe: [日本, x]\n\"é\":\ty\n");
  const auto& object = *parsed.root->as<Object>();
  EXPECT_EQ(object[0].value.where, (Position{1, 8}));
  EXPECT_EQ((*object[0].value.as<Array>())[1].where, (Position{1, 13}));
  EXPECT_EQ(object[1].where, (Position{2, 1}));
  EXPECT_EQ(object[1].value.where, (Position{2, 6}));
}

TEST(document, finds_places_far_along_a_line) {
  std::string text = "[";
  for (int i = 0; i < 5000; ++i) text += "é, ";
  const Parsed parsed = parse(text + "x]");
  EXPECT_EQ(parsed.root->as<Array>()->back().where, (Position{1, 15002}));
}

TEST(document, gives_a_missing_value_the_place_of_its_key) {
  const Parsed parsed = parse("a: 1\nb:\nnext: null\n");
  const auto& object = *parsed.root->as<Object>();
  EXPECT_EQ(object[1].value.where, (Position{2, 1}));
  EXPECT_EQ(object[2].value.where, (Position{3, 7}));
}

TEST(document, keeps_the_first_of_duplicate_keys) {
  const Parsed parsed = parse("a: 1\nb: {c: 1, c: {d: 2, d: 3}}\n'a': 3\n");
  EXPECT_EQ(parsed.shown(), "{a: i1, b: {c: i1}}");
  EXPECT_EQ(parsed.places(), (Places{"2:11", "2:21", "3:1"}));
}

TEST(document, refuses_what_is_not_of_the_language_at_its_place) {
  EXPECT_EQ(parse("a: !!int 1\nb: !x {c: 1}\nc: ! 1\nd: !x '1'\n").places(), (Places{"1:4", "2:4", "3:4", "4:4"}));
  EXPECT_EQ(parse("{a: 1}: 2\nb: 3\n").places(), (Places{"1:1"}));
  EXPECT_EQ(parse("*a : 2\n").places(), (Places{"1:1"}));
  EXPECT_EQ(parse(": 2\n").places(), (Places{"1:1"}));
  EXPECT_EQ(parse("a: 1\n--- \nb: 2\n").places(), (Places{"2:1"}));
  EXPECT_EQ(parse("{} x\n").places(), (Places{"1:4"}));
}

TEST(document, copies_what_an_anchor_stands_for) {
  EXPECT_EQ(parse("a: &x 1\nb: *x\nc: [*x, *x]\n").shown(), "{a: i1, b: i1, c: [i1, i1]}");
  EXPECT_EQ(parse("a: &x {p: [1, two], q: ~}\nb: *x\n").shown(),
            "{a: {p: [i1, 'two'], q: null}, b: {p: [i1, 'two'], q: null}}");
  EXPECT_EQ(parse("a: &x '1'\nb: *x\n").shown(), "{a: '1', b: '1'}");            // a quoted one stays a string
  EXPECT_EQ(parse("&k key: 1\nother: *k\n*k : 2\n").places(), (Places{"3:1"}));  // the same key again
  EXPECT_EQ(parse("a: &k key\n*k : 2\n").shown(), "{a: 'key', key: i2}");
  EXPECT_EQ(parse("a: &x 1\nb: &x 2\nc: *x\n").shown(), "{a: i1, b: i2, c: i2}");  // a name may be given again
  EXPECT_EQ(parse("a: &x\nb: *x\n").shown(), "{a: null, b: null}");
}

TEST(document, gives_a_copy_the_place_of_the_original) {
  const Parsed parsed = parse("a: &x [one]\nb: *x\n");
  const auto& copy = *parsed.root->find("b")->as<Array>();
  EXPECT_EQ(copy[0].where, (Position{1, 8}));
}

TEST(document, merges_maps_below_the_map_s_own_keys) {
  EXPECT_EQ(parse("a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x, r: 4}\n").shown(),
            "{a: {p: i1, q: i2}, b: {q: i3, r: i4, p: i1}}");
  EXPECT_EQ(parse("a: &x {p: 1}\nb: &y {p: 2, q: 3}\nc: {<<: [*x, *y]}\n").shown(),
            "{a: {p: i1}, b: {p: i2, q: i3}, c: {p: i1, q: i3}}");  // the first of a list wins
  EXPECT_EQ(parse("a:\n  <<: {b: 1}\n  c: 2\n").shown(), "{a: {c: i2, b: i1}}");
  EXPECT_EQ(parse("'<<': {b: 1}\n").shown(), "{<<: {b: i1}}");  // quoted, it is a key like any other
}

TEST(document, refuses_a_merge_of_what_is_no_map) {
  EXPECT_EQ(parse("<<: 1\n").places(), (Places{"1:1"}));
  EXPECT_EQ(parse("a: 1\n<<: [{b: 1}, 2]\n").places(), (Places{"2:1"}));
  EXPECT_EQ(parse("<<: {a: 1}\n<<: {b: 1}\n").places(), (Places{"2:1"}));
}

TEST(document, refuses_an_alias_of_nothing_and_of_itself) {
  const Parsed unknown = parse("a: *x\n");
  EXPECT_EQ(unknown.places(), (Places{"1:4"}));
  EXPECT_NE(unknown.errors.at(0).message.find("write the anchor first"), std::string::npos);
  const Parsed itself = parse("a: &x [1, *x]\n");
  EXPECT_EQ(itself.places(), (Places{"1:11"}));
  EXPECT_NE(itself.errors.at(0).message.find("inside of what it stands for"), std::string::npos);
}

TEST(document, bounds_what_aliases_make) {
  // "Billion laughs": ten times ten times … of a few bytes each.
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string above = "*a" + std::to_string(i - 1);
    const std::string own = "a" + std::to_string(i);
    laughs += own + ": &" + own + " [" + above;
    for (int copy = 1; copy < 10; ++copy) laughs += ", " + above;
    laughs += "]\n";
  }
  const Parsed parsed = parse(laughs);
  EXPECT_EQ(parsed.shown(), "nothing");
  ASSERT_EQ(parsed.errors.size(), 1U);
  EXPECT_NE(parsed.errors[0].message.find("more than 1048576 values"), std::string::npos) << parsed.errors[0].message;

  // Depth counts in copies too.
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i) {
    const std::string number = std::to_string(i);
    deep += "a" + number + ": &a" + number + " [*a" + std::to_string(i - 1) + "]\n";
  }
  const Parsed nested = parse(deep);
  ASSERT_EQ(nested.errors.size(), 1U);
  EXPECT_NE(nested.errors[0].message.find("deeper than 64 levels"), std::string::npos) << nested.errors[0].message;
}

TEST(document, refuses_quotes_that_nothing_closes) {
  EXPECT_EQ(parse("a: \"x\n").places(), (Places{"1:4"}));
  EXPECT_EQ(parse("a: 'it''s\n").places(), (Places{"1:4"}));
  EXPECT_EQ(parse("a: \"x\\\"\n").places(), (Places{"1:4"}));
  EXPECT_EQ(parse("a: 'x'''\nb: \"\\\\\"\n").shown(), "{a: 'x'', b: '\\'}");
}

TEST(document, refuses_what_is_no_text) {
  EXPECT_EQ(parse(std::string("a: 1\0b", 6)).places(), (Places{"1:5"}));
  EXPECT_EQ(parse("é: \xff\n").places(), (Places{"1:4"}));
  EXPECT_EQ(parse("a: \xc0\xaf\n").places(), (Places{"1:4"}));          // overlong
  EXPECT_EQ(parse("a: \xed\xa0\x80\n").places(), (Places{"1:4"}));      // a surrogate
  EXPECT_EQ(parse("a: \xf4\x90\x80\x80\n").places(), (Places{"1:4"}));  // above U+10FFFF
  EXPECT_EQ(parse("a: \xe2\x82").places(), (Places{"1:4"}));            // cut short
  EXPECT_EQ(parse("a: 1\rb: 2").places(), (Places{"1:5"}));
  EXPECT_EQ(parse("a: \x04\n").places(), (Places{"1:4"}));
  EXPECT_EQ(parse("a: \x7f\n").places(), (Places{"1:4"}));
  EXPECT_EQ(parse("").places(), (Places{"1:1"}));
  EXPECT_EQ(parse(" \n\t\n# comment\n").places(), (Places{"1:1"}));
}

TEST(document, bounds_the_depth_in_every_style) {
  const auto nested = [](std::size_t levels, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < levels; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < levels; ++i) text += close;
    return text;
  };
  EXPECT_TRUE(parse(nested(max_depth, "[", "]")).errors.empty());
  EXPECT_TRUE(parse(nested(max_depth, "{\"a\": ", "}")).errors.empty());
  for (const std::size_t levels : {max_depth + 1, std::size_t{10000}}) {
    std::string block;
    for (std::size_t i = 0; i < std::min<std::size_t>(levels, 3000); ++i) block += std::string(i, ' ') + "a:\n";
    for (const std::string& text : {nested(levels, "[", "]"), nested(levels, "[", ""), nested(levels, "{\"a\": ", "}"),
                                    nested(levels, "- ", ""), nested(levels, "? ", ""), block}) {
      const Parsed parsed = parse(text);
      EXPECT_EQ(parsed.shown(), "nothing");
      ASSERT_EQ(parsed.errors.size(), 1U);
      EXPECT_NE(parsed.errors[0].message.find("deeper than 64 levels"), std::string::npos) << parsed.errors[0].message;
    }
  }
}

TEST(document, bounds_the_size) {
  const Parsed large = parse(std::string(std::size_t{17} << 20, ' '));
  ASSERT_EQ(large.errors.size(), 1U);
  EXPECT_EQ(large.errors[0].where, Position());
  const Parsed brackets = parse(std::string(std::size_t{10} << 20, '['));
  ASSERT_EQ(brackets.errors.size(), 1U);
  EXPECT_NE(brackets.errors[0].message.find("brackets"), std::string::npos);
}

TEST(document, reads_ten_megabytes_of_one_line) {
  std::string text = "[";
  while (text.size() < 10'000'000) text += "\"abcdefghijklmnopqrstuvwxyz\", ";
  const Parsed parsed = parse(text + "1]");
  ASSERT_TRUE(parsed.errors.empty());
  EXPECT_GT(parsed.root->as<Array>()->size(), 300000U);
}

TEST(document, finds_members_by_key) {
  const Parsed parsed = parse("{a: 1, b: 2}");
  ASSERT_NE(parsed.root->find("b"), nullptr);
  EXPECT_EQ(show(*parsed.root->find("b")), "i2");
  EXPECT_EQ(parsed.root->find("c"), nullptr);
  EXPECT_EQ(parsed.root->find("a")->find("b"), nullptr);
}

}  // namespace
}  // namespace irisgen::document_test
