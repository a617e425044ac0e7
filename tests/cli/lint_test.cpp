// lint: what it prints, writes and ends with. What it finds is tested in tests/runtime/lint_test.cpp.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "iris/compiler.hpp"
#include "iris/lint.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::lint_test {
namespace {

using Json = nlohmann::json;

constexpr const char* right_kernel = R"(#include <iris/device/atomics.hpp>
void kernel(const iris::device::Context& context, unsigned* counts) { iris::device::atomic_add(counts, 1u); }
)";

// The comment moves bytes and code points apart.
constexpr const char* wrong_kernel = R"(#include <iris/device/atomics.hpp>
using namespace iris::device;
void kernel(const Context& context, u32* counts) {
  u32* const theirs = on_rank(context, counts, 1);
  /* größer */ atomic_add<Order::relaxed, Scope::gpu>(theirs, 1u);
}
)";

class LintCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (const iris::MissingCompiler& missing : iris::Compilers::instance().missing) {
      if (missing.name == "clang") GTEST_SKIP() << missing.reason << "; " << missing.remedy;
    }
    write_file(folder_.file("right.hip"), right_kernel);
    write_file(folder_.file("wrong.hip"), wrong_kernel);
    write_file(folder_.file("broken.hip"), "int x = missing;\n");
  }
  Outcome lint(std::vector<std::string> arguments, Surroundings surroundings = {}) const {
    arguments.insert(arguments.begin(), "lint");
    surroundings.folder = folder_.path();
    return irisgen(arguments, surroundings);
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

TEST_F(LintCommand, IsZeroForARightKernel) {
  const Outcome outcome = lint({"right.hip"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "right.hip: ok\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(LintCommand, ShowsPlaceRangeNoteAndRemedyAsClangDoes) {
  const Outcome outcome = lint({"wrong.hip"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(
      outcome.err,
      R"(wrong.hip:5:45: warning: atomic_add of scope 'gpu' on the memory of another rank, whose GPU does not take part in that scope; use Scope::sys [iris-remote-scope]
    5 |   /* größer */ atomic_add<Order::relaxed, Scope::gpu>(theirs, 1u);
      |                                           ^~~~~~~~~~
      | write for 5:45-54: Scope::sys
wrong.hip:5:57: note: this address is another rank's
    5 |   /* größer */ atomic_add<Order::relaxed, Scope::gpu>(theirs, 1u);
      |                                                       ^~~~~~
)");
}

TEST_F(LintCommand, EndsWithTheWorstOfAllFilesAndLooksAtEach) {
  EXPECT_EQ(lint({"broken.hip", "right.hip"}).code, 1);
  const Outcome outcome = lint({"none.hip", "broken.hip", "wrong.hip", "right.hip"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("cannot read none.hip"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("broken.hip:1:9: error: use of undeclared identifier 'missing'"), std::string::npos);
  EXPECT_NE(outcome.err.find("wrong.hip:5:45: warning:"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "right.hip: ok\n");
}

TEST_F(LintCommand, ReadsStandardInput) {
  const Outcome outcome = lint({"-"}, {.input = wrong_kernel});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.find("<stdin>:5:45: warning:"), 0u) << outcome.err;
}

TEST_F(LintCommand, PrintsFindingsAsJson) {
  const Outcome outcome = lint({"wrong.hip", "right.hip", "--json"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1], Json({{"file", "right.hip"}, {"findings", Json::array()}}));
  ASSERT_EQ(json[0]["findings"].size(), 1u);
  const Json& finding = json[0]["findings"][0];
  EXPECT_EQ(finding["rule"], "iris-remote-scope");
  EXPECT_EQ(finding["severity"], "warning");
  EXPECT_EQ(finding["line"], 5);
  EXPECT_EQ(finding["column"], 45);
  EXPECT_EQ(finding["end_column"], 55);
  EXPECT_EQ(finding["notes"][0]["column"], 57);
  EXPECT_EQ(finding["fix_its"][0]["text"], "Scope::sys");
}

TEST_F(LintCommand, WritesSarifWithItsRulesPlacesAndRemedies) {
  write_file(folder().file("odd name.hip"), wrong_kernel);
  EXPECT_EQ(lint({"odd name.hip", "broken.hip", "right.hip", "--sarif", "out/lint.sarif"}).code, 1);
  const Json sarif = Json::parse(read_file(folder().path() / "out" / "lint.sarif"));
  EXPECT_EQ(sarif["version"], "2.1.0");
  ASSERT_EQ(sarif["runs"].size(), 1u);
  const Json& run = sarif["runs"][0];
  EXPECT_EQ(run["columnKind"], "unicodeCodePoints");
  std::set<std::string> rules;
  for (const Json& rule : run["tool"]["driver"]["rules"]) {
    rules.insert(rule["id"].get<std::string>());
    EXPECT_FALSE(rule["shortDescription"]["text"].get<std::string>().empty());
  }
  for (const iris::LintRule& rule : iris::lint_rules()) EXPECT_TRUE(rules.contains(std::string(rule.name)));
  ASSERT_EQ(run["results"].size(), 2u);
  for (const Json& result : run["results"]) EXPECT_TRUE(rules.contains(result["ruleId"].get<std::string>()));

  const Json& scope = run["results"][0];
  EXPECT_EQ(scope["ruleId"], "iris-remote-scope");
  EXPECT_EQ(scope["level"], "warning");
  const Json& place = scope["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "odd%20name.hip");
  // Two bytes each, ö and ß stand before it.
  EXPECT_EQ(place["region"], Json({{"startLine", 5}, {"startColumn", 43}, {"endLine", 5}, {"endColumn", 53}}));
  EXPECT_EQ(scope["relatedLocations"][0]["message"]["text"], "this address is another rank's");
  const Json& change = scope["fixes"][0]["artifactChanges"][0];
  EXPECT_EQ(change["replacements"][0]["deletedRegion"]["startColumn"], 43);
  EXPECT_EQ(change["replacements"][0]["insertedContent"]["text"], "Scope::sys");
  EXPECT_EQ(run["results"][1]["level"], "error");
  EXPECT_EQ(run["results"][1]["ruleId"], "compiler");
}

TEST_F(LintCommand, WritesSarifOverItsOwnAndNothingElse) {
  EXPECT_EQ(lint({"right.hip", "--sarif", "lint.sarif"}).code, 0);
  EXPECT_EQ(lint({"right.hip", "--sarif", "lint.sarif"}).code, 0);
  const Outcome outcome = lint({"right.hip", "--sarif", "wrong.hip"});
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(read_file(folder().path() / "wrong.hip"), wrong_kernel);
  EXPECT_EQ(lint({"right.hip", "--sarif", "right.hip"}).code, 2);
}

TEST_F(LintCommand, HasUsage) {
  const Outcome outcome = lint({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "irisgen: error: name a file to look at, or --list\n");
}

TEST(LintWithoutClang, NamesThePackageOnceAndStillListsTheRules) {
  const TemporaryFolder folder;
  write_file(folder.file("right.hip"), right_kernel);
  const Surroundings nowhere = {.folder = folder.path(), .environment = {{"IRISGEN_CLANG_LIBRARY", "/nowhere/lib.so"}}};
  const Outcome outcome = irisgen({"lint", "right.hip", "right.hip"}, nowhere);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find("irisgen: error: clang is not on this machine: "), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find("install libclang-cpp22 and libllvm22"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("clang is not", 30), std::string::npos) << outcome.err;

  const Outcome list = irisgen({"lint", "--list"}, nowhere);
  EXPECT_EQ(list.code, 0) << list.err;
  for (const iris::LintRule& rule : iris::lint_rules()) {
    EXPECT_NE(list.out.find(rule.name), std::string::npos) << rule.name;
  }
  EXPECT_EQ(Json::parse(irisgen({"lint", "--list", "--json"}, nowhere).out).size(), iris::lint_rules().size());
}

}  // namespace
}  // namespace irisgen::test::lint_test
