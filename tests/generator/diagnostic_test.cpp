#include "irisgen/diagnostic.hpp"

#include <gtest/gtest.h>

namespace irisgen::diagnostic_test {
namespace {

Report report_of(const std::string& text, Position where, const std::string& message = "wrong") {
  Report report("spec.yaml", text);
  report.error(where, message);
  return report;
}

TEST(report, shows_the_place_the_line_and_a_caret) {
  EXPECT_EQ(report_of("one\ntwo three\nfour", {2, 5}).render(),
            "spec.yaml:2:5: error: wrong\n"
            "    2 | two three\n"
            "      |     ^");
}

TEST(report, shows_an_error_without_a_place_on_one_line) {
  EXPECT_EQ(report_of("one\n", {}).render(), "spec.yaml: error: wrong");
}

TEST(report, has_no_line_to_show_of_a_text_that_it_was_not_given) {
  EXPECT_EQ(report_of("", {2, 5}).render(), "spec.yaml:2:5: error: wrong");
}

TEST(report, sorts_errors_by_place_and_keeps_the_order_within_one) {
  Report report("a", "x\ny\n");
  report.error({2, 1}, "third");
  report.error({1, 1}, "first");
  report.error({1, 1}, "second");
  EXPECT_EQ(report.render(),
            "a:1:1: error: first\n    1 | x\n      | ^\n"
            "a:1:1: error: second\n    1 | x\n      | ^\n"
            "a:2:1: error: third\n    2 | y\n      | ^");
}

TEST(report, colours_only_when_asked) {
  const Report report = report_of("x", {1, 1});
  EXPECT_EQ(report.render().find('\033'), std::string::npos);
  EXPECT_EQ(report.render(true),
            "\033[1mspec.yaml:1:1: \033[0m\033[1;31merror:\033[0m wrong\n    1 | x\n      | \033[1;32m^\033[0m");
}

TEST(report, repeats_tabs_below_tabs) {
  EXPECT_EQ(report_of("a\tb\tc", {1, 5}).render(),
            "spec.yaml:1:5: error: wrong\n"
            "    1 | a\tb\tc\n"
            "      |  \t \t^");
}

TEST(report, gives_wide_and_combining_characters_the_columns_they_take) {
  EXPECT_EQ(report_of("日e\u0301x", {1, 4}).render(),
            "spec.yaml:1:4: error: wrong\n"
            "    1 | 日e\u0301x\n"
            "      |    ^");
}

TEST(report, never_shows_control_characters_raw) {
  const std::string text = report_of("\033[2J\a\u202e\u0085\x80 x", {1, 1}, "bad \033]0;title\a").render();
  EXPECT_EQ(text,
            "spec.yaml:1:1: error: bad ␛]0;title␇\n"
            "    1 | ␛[2J␇<U+202E><U+0085>\uFFFD x\n"
            "      | ^");
}

TEST(report, windows_long_lines_around_the_column) {
  const std::string left(300, 'a');
  const std::string right(300, 'b');
  EXPECT_EQ(report_of(left + "X" + right, {1, 301}).render(), "spec.yaml:1:301: error: wrong\n    1 | …" +
                                                                  std::string(60, 'a') + "X" + std::string(59, 'b') +
                                                                  "…\n      | " + std::string(61, ' ') + "^");
}

TEST(report, cuts_messages_of_any_length) {
  const std::string text = report_of("x", {1, 1}, std::string(100000, 'm')).render();
  EXPECT_LT(text.size(), 1200U);
}

TEST(report, shows_fifty_errors_and_counts_the_rest) {
  Report report("a", "x\n");
  for (int i = 0; i < 100000; ++i) report.error({1, 1}, std::to_string(i));
  EXPECT_TRUE(report.full());
  EXPECT_EQ(report.diagnostics().size(), 1000U);
  const std::string text = report.render();
  EXPECT_NE(text.find("error: 49\n"), std::string::npos);
  EXPECT_EQ(text.find("error: 50\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\nand 99950 more errors")) << text.substr(text.size() - 40);
}

TEST(report, ignores_the_carriage_return_that_ends_a_line) {
  EXPECT_EQ(report_of("one\r\ntwo\r\n", {1, 1}).render(), "spec.yaml:1:1: error: wrong\n    1 | one\n      | ^");
}

TEST(report, survives_places_outside_the_text) {
  EXPECT_EQ(report_of("one", {7, 9}).render(), "spec.yaml:7:9: error: wrong\n    7 | \n      | ^");
}

TEST(report, keeps_an_error_that_was_found_twice_once) {
  Report report("a", "x\n");
  for (int i = 0; i < 3; ++i) report.error({1, 1}, "same");
  report.error({1, 1}, "other");
  EXPECT_EQ(report.render(), "a:1:1: error: same\n    1 | x\n      | ^\na:1:1: error: other\n    1 | x\n      | ^");
}

TEST(report, is_fine_with_notes_alone) {
  Report report("a", "x\n");
  report.note({1, 1}, "worth knowing");
  EXPECT_TRUE(report.ok());
  EXPECT_NO_THROW(report.throw_if_any());
  EXPECT_EQ(report.render(), "a:1:1: note: worth knowing\n    1 | x\n      | ^");
  EXPECT_EQ(report.render(true).find("31m"), std::string::npos);
  report.error({1, 1}, "worth knowing");
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.diagnostics().size(), 2U);
}

TEST(report, names_the_option_that_a_value_came_from) {
  EXPECT_EQ(report_of("x", world_option).render(), "--world: error: wrong");
}

TEST(report, throws_what_it_renders) {
  EXPECT_NO_THROW(Report("a", "").throw_if_any());
  try {
    report_of("x", {1, 1}).throw_if_any();
    FAIL() << "did not throw";
  } catch (const SpecError& error) {
    EXPECT_EQ(error.what(), error.report().render());
    EXPECT_EQ(error.report().diagnostics().size(), 1U);
  }
}

TEST(suggestion, names_the_nearest_word) {
  EXPECT_EQ(suggestion("twoshot", {"one_shot", "two_shot", "ring"}), "; did you mean 'two_shot'?");
  EXPECT_EQ(suggestion("two-shot", {"one_shot", "two_shot"}), "; did you mean 'two_shot'?");
  EXPECT_EQ(suggestion("F32", {"f64", "f32"}), "; did you mean 'f32'?");
  EXPECT_EQ(suggestion("mni", {"max", "min"}), "; did you mean 'min'?");
}

TEST(suggestion, lists_the_words_where_none_is_near) {
  EXPECT_EQ(suggestion("gossip", {"ring", "direct"}), "; one of: ring, direct");
  EXPECT_EQ(suggestion("", {"ring"}), "; one of: ring");
  EXPECT_EQ(suggestion("k", {"m", "n"}), "; one of: m, n");
  EXPECT_EQ(suggestion(std::string(100000, 'r'), {"ring"}), "; one of: ring");
  EXPECT_EQ(suggestion("x", {}), "");
}

}  // namespace
}  // namespace irisgen::diagnostic_test
