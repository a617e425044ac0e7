#include "iris/lint.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/runtime/compiler_samples.hpp"

namespace iris::lint_test {
namespace {

using irisgen::FixIt;
using irisgen::SourceDiagnostic;
using irisgen::SourceRange;

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

Expected found_in(const std::vector<SourceDiagnostic>& findings) {
  Expected found;
  for (const SourceDiagnostic& finding : findings)
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

/// The rules found in a kernel whose statements these are.
std::multiset<std::string> rules_in(const std::string& statements) {
  std::multiset<std::string> rules;
  const std::string source = R"(
#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>
using namespace iris::device;
template <typename Config>
__device__ void kernel(const Context& context, const f32* in, f32* out, u32* counts, i64 m, i64 n) {
  Launch<Config> launch(context);
)" + statements + "\n}\n";
  for (const SourceDiagnostic& finding : lint("sample.hip", source)) {
    EXPECT_NE(finding.severity, SourceDiagnostic::Severity::error) << finding.message;
    rules.insert(finding.rule);
  }
  return rules;
}

using Rules = std::multiset<std::string>;

TEST_F(Lint, takes_back_what_a_comment_names) {
  const std::string wrong = "volatile u32* flag = counts;";
  EXPECT_EQ(rules_in(wrong), Rules{"iris-volatile"});
  EXPECT_EQ(rules_in(wrong + "  // NOLINT"), Rules());
  EXPECT_EQ(rules_in(wrong + "  // NOLINT(iris-volatile)"), Rules());
  EXPECT_EQ(rules_in(wrong + "  // NOLINT(bugprone-branch-clone, iris-volatile): a register of the NIC"), Rules());
  EXPECT_EQ(rules_in(wrong + "  // NOLINT(iris-*)"), Rules());
  EXPECT_EQ(rules_in("// NOLINTNEXTLINE(iris-volatile)\n" + wrong), Rules());
  EXPECT_EQ(rules_in("// NOLINTBEGIN(iris-volatile)\n\n" + wrong + "\n// NOLINTEND(iris-volatile)"), Rules());
}

TEST_F(Lint, keeps_what_a_comment_does_not_name) {
  const std::string wrong = "volatile u32* flag = counts;";
  const Rules found = {"iris-volatile"};
  EXPECT_EQ(rules_in(wrong + "  // NOLINT(iris-remote-scope)"), found);
  EXPECT_EQ(rules_in(wrong + "  // NOLINTNEXTLINE(iris-volatile)"), found);
  EXPECT_EQ(rules_in("// NOLINT(iris-volatile)\n" + wrong), found);
  EXPECT_EQ(rules_in("// NOLINTNEXTLINE(iris-volatile)\n\n" + wrong), found);
  EXPECT_EQ(rules_in("// NOLINTBEGIN(iris-volatile)\n// NOLINTEND(iris-volatile)\n" + wrong), found);
  EXPECT_EQ(rules_in("const char* NOLINT = \"\"; " + wrong), found);
}

/// The source with all that findings offer done, last places first.
std::string repaired(std::string source, const std::vector<SourceDiagnostic>& findings) {
  std::vector<std::size_t> lines = {0, 0};  // where each begins, by its number
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\n') lines.push_back(i + 1);
  }
  const auto offset = [&](int line, int column) {
    return lines.at(static_cast<std::size_t>(line)) + static_cast<std::size_t>(column) - 1;
  };
  std::map<std::size_t, std::pair<std::size_t, std::string>> replacements;
  for (const SourceDiagnostic& finding : findings) {
    for (const FixIt& fix_it : finding.fix_its) {
      const std::size_t begin = offset(fix_it.where.line, fix_it.where.column);
      replacements[begin] = {offset(fix_it.where.end_line, fix_it.where.end_column) - begin, fix_it.text};
    }
  }
  for (auto one = replacements.rbegin(); one != replacements.rend(); ++one) {
    source.replace(one->first, one->second.first, one->second.second);
  }
  return source;
}

TEST_F(Lint, offers_what_compiles_and_is_right) {
  const std::map<std::string, int> least = {
      {"remote_dereference", 7}, {"unsynchronized_signal", 7}, {"ignored_wait", 6}, {"remote_scope", 8}};
  for (const auto& [stem, count] : least) {
    const fs::path file = root / "tests/runtime/lint" / (stem + ".wrong.hip");
    const std::string source = text_of(file);
    const std::vector<SourceDiagnostic> before = lint(file.string(), source);
    const auto offered =
        std::ranges::count_if(before, [](const SourceDiagnostic& one) { return !one.fix_its.empty(); });
    EXPECT_GE(offered, count) << stem;
    const std::vector<SourceDiagnostic> after = lint(file.string(), repaired(source, before));
    EXPECT_EQ(after.size() + static_cast<std::size_t>(offered), before.size()) << stem << "\n"
                                                                               << listed(found_in(after));
    for (const SourceDiagnostic& left : after)
      EXPECT_EQ(left.severity, SourceDiagnostic::Severity::warning) << left.message;
  }
}

TEST_F(Lint, points_at_the_whole_expression_and_says_why_in_notes) {
  const std::vector<SourceDiagnostic> findings = lint("sample.hip", R"(#include <iris/device/signal.hpp>
struct Config {
  static constexpr int world = 2, blocks = 1, threads = 32;
};
void kernel(const iris::device::Context& context) {
  if (iris::device::thread_index() < 4) iris::device::sync_block();
}
)");
  ASSERT_EQ(findings.size(), 1u);
  const SourceRange& where = findings[0].where;
  EXPECT_EQ(where.file, "sample.hip");
  EXPECT_EQ(std::tuple(where.line, where.column, where.end_line, where.end_column), std::tuple(6, 41, 6, 67));
  EXPECT_EQ(where.source_line, "  if (iris::device::thread_index() < 4) iris::device::sync_block();");
  ASSERT_EQ(findings[0].notes.size(), 1u);
  EXPECT_EQ(findings[0].notes[0].message, "this differs among threads");
  EXPECT_EQ(findings[0].notes[0].where.column, 7);
}

TEST_F(Lint, looks_at_templates_whose_config_has_constants_of_its_own) {
  const std::string source = R"(#include <iris/device/atomics.hpp>
using namespace iris::device;
namespace mine {
template <typename Config>
__device__ void kernel(const Context& context, const typename Config::Key* keys, u32* counts, i64 m, i64 n) {
  u32* const theirs = on_rank(context, counts + Config::buckets, 1);
  if (keys[0] > 0) atomic_add<Order::relaxed, Scope::gpu>(theirs, 1u);
}
}  // namespace mine
)";
  EXPECT_EQ(found_in(lint("sample.hip", source)), (Expected{{7, "iris-remote-scope"}}));
}

TEST_F(Lint, says_which_template_it_could_not_look_at_and_looks_at_the_others) {
  const std::string source = R"(#include <iris/device/atomics.hpp>
using namespace iris::device;
template <typename Config>
__device__ void odd(const Context& context, u32* counts) {
  static_assert(Config::threads == 7, "seven threads");
}
template <typename Config>
__device__ void plain(const Context& context, volatile u32* counts) {}
)";
  const std::vector<SourceDiagnostic> findings = lint("sample.hip", source);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "iris-volatile");
  EXPECT_EQ(findings[1].severity, SourceDiagnostic::Severity::note);
  EXPECT_EQ(findings[1].where.line, 5);
  EXPECT_EQ(findings[1].message.find("'odd' is not looked at, since it does not compile with irisgen's sample Config"),
            0u)
      << findings[1].message;
}

TEST_F(Lint, gives_a_place_to_what_is_no_kernel_at_all) {
  for (const std::string& source :
       {std::string("template <typename Config> void f() { f<Config*>(); }\ntemplate void f<int>();\n"),
        std::string("#include <vector>\n"), std::string("}\n"), std::string(1, '\0') + "int",
        std::string(10'000'000, 'x'), "int a[" + std::string(5000, '(') + "];\n"}) {
    const std::vector<SourceDiagnostic> findings = lint("sample.hip", source);
    ASSERT_FALSE(findings.empty()) << source.substr(0, 80);
    EXPECT_EQ(findings[0].severity, SourceDiagnostic::Severity::error);
    EXPECT_GE(findings[0].where.line, 1) << findings[0].message;
  }
}

TEST_F(Lint, says_which_function_is_too_large) {
  std::string source = "void huge(int n, int* out) {\n";
  for (int i = 0; i < 5000; ++i) source += "if (n > " + std::to_string(i) + ") out[0] = 1;\n";
  source += "}\nvolatile int flag;\n";
  const std::vector<SourceDiagnostic> findings = lint("sample.hip", source);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].severity, SourceDiagnostic::Severity::note);
  EXPECT_EQ(findings[0].where.line, 1);
  EXPECT_EQ(findings[0].message, "this function is too large to be looked at as a whole");
  EXPECT_EQ(findings[1].rule, "iris-volatile");
}

TEST_F(Lint, ends_whatever_the_control_flow) {
  std::string branches;
  for (int i = 0; i < 300; ++i) branches += "if (m > " + std::to_string(i) + ") out[" + std::to_string(i) + "] = 1;\n";
  std::string calls = "auto f0 = [&] { sync_block(); };\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1) + "();";
    calls += "auto f" + std::to_string(i) + " = [&] { " + before + before + " };\n";
  }
  EXPECT_EQ(rules_in(branches), Rules());
  EXPECT_EQ(rules_in(calls + "f39();"), Rules());
  EXPECT_EQ(rules_in("for (;;) { sync_block(); }"), Rules());
  EXPECT_EQ(rules_in("goto end; again: sync_block(); end: if (m > 0) goto again;"), Rules());
}

TEST_F(Lint, tells_of_those_who_never_signal_what_the_condition_says) {
  const auto rules_under = [](const std::string& condition) {
    return rules_in("if (" + condition +
                    ") block_signal_release(launch, own_flag<Config>(0), 0, peer_at<Config::world>(context, 1));\n"
                    "const i32 previous = peer_at<Config::world>(context, Config::world - 1);\n"
                    "if (!block_wait_acquire(launch, own_flag<Config>(0), 0, previous, Wait::step)) return;");
  };
  const Rules one = {"iris-mismatched-flag"};
  for (const std::string condition : {"context.rank == 0", "0 == context.rank", "context.rank != 3", "context.rank < 1",
                                      "1 <= context.rank", "!(context.rank <= 0)", "context.rank + 1 == Config::world",
                                      "context.rank == m", "m > 8 && context.rank > 0"}) {
    EXPECT_EQ(rules_under(condition), one) << condition;
  }
  for (const std::string condition : {"context.rank >= 0", "context.rank != -1", "m > 8", "context.rank * 2 == m",
                                      "in[context.rank] > 0", "context.rank != block_index()"}) {
    EXPECT_EQ(rules_under(condition), Rules()) << condition;
  }
  EXPECT_EQ(rules_in("const bool first = !first;\nif (first) block_signal_release(launch, own_flag<Config>(0), 0, 1);\n"
                     "if (!block_wait_acquire(launch, own_flag<Config>(0), 0, 1, Wait::step)) return;"),
            Rules());
}

}  // namespace
}  // namespace iris::lint_test
