#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "irisgen/source.hpp"

namespace irisgen {
namespace {

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Substitute, ReplacesMarkerAndSample) {
  EXPECT_EQ(substitute("static constexpr i32 world = /*${world}*/8;\n", {{"world", "3"}}),
            "static constexpr i32 world = 3;\n");
}

TEST(Substitute, EndsASampleAtWhiteSpaceAndAtPunctuation) {
  for (const std::string end : {" ", "\t", "\n", ";", ",", "(", ")"}) {
    EXPECT_EQ(substitute("/*${key}*/sample::of<x>" + end + "rest", {{"key", "value"}}), "value" + end + "rest");
  }
}

TEST(Substitute, TakesBlanksAlongWhereThereIsNoSample) {
  EXPECT_EQ(substitute("f(int a /*${extents}*/)", {{"extents", ", i64 n"}}), "f(int a, i64 n)");
  EXPECT_EQ(substitute("f(int a  /*${extents}*/)", {{"extents", ""}}), "f(int a)");
  EXPECT_EQ(substitute("f(int a /*${extents}*/b)", {{"extents", ""}}), "f(int a )");
}

TEST(Substitute, ReachesTheEndOfTheText) {
  EXPECT_EQ(substitute("/*${key}*/sample", {{"key", "value"}}), "value");
  EXPECT_EQ(substitute("/*${key}*/", {{"key", "value"}}), "value");
  EXPECT_EQ(substitute("", {}), "");
}

TEST(Substitute, ReplacesEveryUseOfAKeyAndAdjacentMarkers) {
  EXPECT_EQ(substitute("/*${a}*/1,/*${b}*/2,/*${a}*/3", {{"a", "x"}, {"b", "y"}}), "x,y,x");
}

TEST(Substitute, DoesNotReadValuesAsTemplates) {
  EXPECT_EQ(substitute("/*${a}*/1;", {{"a", "/*${b}*/2"}}), "/*${b}*/2;");
}

TEST(Substitute, LeavesOtherCommentsAlone) {
  const std::string text = "/* why */ int a = 1;  // $5 {x}\n/*$*/ /*{}*/\n";
  EXPECT_EQ(substitute(text, {}), text);
}

TEST(Substitute, NamesAnUnknownKeyWithItsLine) {
  EXPECT_EQ(message_of([] { substitute("one\ntwo /*${wrld}*/8;", {{"world", "3"}}); }),
            "template, line 2: unknown key 'wrld'");
}

TEST(Substitute, NamesAnUnusedKey) {
  EXPECT_EQ(message_of([] { substitute("/*${a}*/1", {{"a", "1"}, {"blocks", "2"}}); }),
            "template: unused key 'blocks'");
}

TEST(Substitute, RefusesMalformedMarkers) {
  EXPECT_EQ(message_of([] { substitute("\n/*${a", {{"a", "1"}}); }), "template, line 2: malformed marker");
  EXPECT_EQ(message_of([] { substitute("/*${}*/", {}); }), "template, line 1: malformed marker");
  EXPECT_EQ(message_of([] { substitute("/*${a b}*/", {}); }), "template, line 1: malformed marker");
  EXPECT_EQ(message_of([] { substitute("/*${a */ x }*/1", {{"a", "1"}}); }), "template, line 1: malformed marker");
}

TEST(Substitute, RefusesADollarBraceOutsideOfAMarker) {
  EXPECT_EQ(message_of([] { substitute("x\n\n/* ${a}*/1", {{"a", "1"}}); }),
            "template, line 3: '${' outside of a marker /*${key}*/");
}

}  // namespace
}  // namespace irisgen
