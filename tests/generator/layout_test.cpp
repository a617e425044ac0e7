#include "generator/emit/layout.hpp"

#include <gtest/gtest.h>

namespace irisgen::layout_test {
namespace {

TEST(LayOutSignature, StaysOnALineThatHoldsIt) {
  EXPECT_EQ(lay_out_signature("  void f(", "int a, int b", ") {"), "  void f(int a, int b) {");
  EXPECT_EQ(lay_out_signature("f(", "", ");"), "f();");
}

TEST(LayOutSignature, UsesExactlyTheWidth) {
  const std::string parameter(max_line - 2 - 3 - 7, 'x');
  EXPECT_EQ(lay_out_signature("f(", parameter + ", int b", ") {"), "f(" + parameter + ", int b) {");
  EXPECT_EQ(lay_out_signature("f(", "x" + parameter + ", int b", ") {"), "f(x" + parameter + ",\n  int b) {");
}

TEST(LayOutSignature, BreaksBelowTheFirstParameter) {
  const std::string parameter(60, 'x');
  EXPECT_EQ(lay_out_signature("  void f(", parameter + ", " + parameter + ", int c", ") {"),
            "  void f(" + parameter + ",\n         " + parameter + ", int c) {");
}

TEST(LayOutSignature, BreaksAfterALongHead) {
  const std::string head = "  " + std::string(110, 'f') + "(";
  EXPECT_EQ(lay_out_signature(head, "const float* input, float* output", ") {"),
            head + "\n      const float* input, float* output) {");
}

TEST(WrapComment, BreaksBetweenWords) {
  EXPECT_EQ(wrap_comment("short"), "// short\n");
  EXPECT_EQ(wrap_comment(""), "");
  const std::string word(50, 'w');
  EXPECT_EQ(wrap_comment(word + " " + word + " " + word), "// " + word + " " + word + "\n// " + word + "\n");
  const std::string exact(max_line - 3, 'x');
  EXPECT_EQ(wrap_comment(exact + " y"), "// " + exact + "\n// y\n");
  const std::string endless(200, 'e');  // nowhere to break
  EXPECT_EQ(wrap_comment(endless + " y"), "// " + endless + "\n// y\n");
}

TEST(AlignTrailingComments, PutsThoseOfConsecutiveLinesInOneColumn) {
  EXPECT_EQ(align_trailing_comments("a = 1;  // one\nlonger = 1000;  // two\n"),
            "a = 1;          // one\nlonger = 1000;  // two\n");
  EXPECT_EQ(align_trailing_comments("a = 1;     // one\n"), "a = 1;  // one\n");
}

TEST(AlignTrailingComments, LeavesOtherLinesAlone) {
  const std::string text = "a = 1;  // one\nlonger = 1000;\nb = 10;  // two\n\n  // a comment of its own\n  f();\n";
  EXPECT_EQ(align_trailing_comments(text), text);
  EXPECT_EQ(align_trailing_comments(""), "");
}

}  // namespace
}  // namespace irisgen::layout_test
