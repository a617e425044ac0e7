#include "iris/lint.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/runtime/compiler_samples.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

const fs::path root = IRISGEN_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Rules by the line at which they are to find something, as comments at its end say: `// expect: iris-…`.
using Expected = std::multimap<int, std::string>;

Expected expected_in(const std::string& source) {
  Expected expected;
  std::istringstream lines(source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t at = line.find("// expect: ");
    if (at != std::string::npos) expected.emplace(number, line.substr(at + 11));
  }
  return expected;
}

Expected found_in(const std::vector<LintFinding>& findings) {
  Expected found;
  for (const LintFinding& finding : findings)
    found.emplace(finding.where.line, finding.rule + (finding.rule.empty() ? finding.message : ""));
  return found;
}

std::string listed(const Expected& places) {
  std::string list;
  for (const auto& [line, rule] : places) list += "  line " + std::to_string(line) + ": " + rule + "\n";
  return list;
}

std::string stem_of(std::string_view rule) {
  std::string stem(rule.substr(std::string_view("iris-").size()));
  std::ranges::replace(stem, '-', '_');
  return stem;
}

class Lint : public testing::Test {
 protected:
  void SetUp() override { IRISGEN_REQUIRE_COMPILER("clang", "host"); }
};

class EachRule : public testing::TestWithParam<LintRule> {
 protected:
  void SetUp() override { IRISGEN_REQUIRE_COMPILER("clang", "host"); }
};

INSTANTIATE_TEST_SUITE_P(Lint, EachRule, testing::ValuesIn(lint_rules()),
                         [](const auto& info) { return stem_of(info.param.name); });

TEST_P(EachRule, finds_each_of_ten_mistakes_at_its_line_and_nothing_else) {
  const fs::path file = root / "tests/runtime/lint" / (stem_of(GetParam().name) + ".wrong.hip");
  const std::string source = text_of(file);
  const Expected expected = expected_in(source);
  EXPECT_GE(expected.size(), 10u);
  for (const auto& [line, rule] : expected) EXPECT_EQ(rule, GetParam().name) << "line " << line;
  const Expected found = found_in(lint(file.string(), source));
  EXPECT_EQ(found, expected) << "found\n" << listed(found) << "expected\n" << listed(expected);
}

TEST_P(EachRule, is_quiet_about_ten_kernels_that_are_right) {
  const fs::path file = root / "tests/runtime/lint" / (stem_of(GetParam().name) + ".right.hip");
  const std::string source = text_of(file);
  const std::regex kernel("__device__ void \\w+\\(const Context& context");
  EXPECT_GE(std::distance(std::sregex_iterator(source.begin(), source.end(), kernel), std::sregex_iterator()), 10);
  const Expected found = found_in(lint(file.string(), source));
  EXPECT_EQ(found, Expected()) << listed(found);
}

TEST_F(Lint, is_quiet_about_all_templates) {
  int templates = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "templates")) {
    if (entry.path().extension() != ".hip") continue;
    ++templates;
    const Expected found = found_in(lint(entry.path().string(), text_of(entry.path())));
    EXPECT_EQ(found, Expected()) << entry.path() << "\n" << listed(found);
  }
  EXPECT_GE(templates, 26);
}

}  // namespace
}  // namespace iris
