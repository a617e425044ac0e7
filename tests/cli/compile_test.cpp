// `irisgen compile` and `irisgen cache`.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

namespace irisgen::test::compile_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Why nothing on this machine compiles the target; empty if something does.
std::string why_not(const std::string& target) {
  const Json machine = Json::parse(irisgen({"list", "--json"}).out);
  for (const Json& known : machine["targets"]) {
    if (known["name"] == target && !known["compilers"].empty()) return {};
  }
  return "no compiler for " + target + " on this machine";
}

class Compile : public testing::Test {
 protected:
  void SetUp() override { write_file(folder_.file("spec.yaml"), small_spec("3")); }

  Outcome run(const std::vector<std::string>& arguments) const {
    return irisgen(arguments, {.folder = folder_.path(), .environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}});
  }

  TemporaryFolder folder_;
};

TEST_F(Compile, WritesACodeObjectForEachTargetAndReportsWhatItTakes) {
  for (const auto& [target, extension] : {std::pair{"gfx942", "hsaco"}, {"sm_90a", "cubin"}, {"host", "so"}}) {
    if (!why_not(target).empty()) continue;
    const Outcome outcome = run({"compile", "spec.yaml", "--target", target, "-o", "out", "--json"});
    ASSERT_EQ(outcome.code, 0) << target << outcome.err;
    const Json row = Json::parse(outcome.out).at(0);
    EXPECT_EQ(row["file"], std::string("small.w3.") + target + "." + extension);
    const std::string code = read_file(folder_.path() / "out" / row["file"]);
    EXPECT_EQ(code.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(code.size(), row["bytes"]);
    if (std::string(target) == "host") continue;
    EXPECT_GT(row["registers"], 0);
    EXPECT_EQ(row["spill_bytes"], 0);
    EXPECT_TRUE(row["shared_bytes"].is_number());
  }
}

TEST_F(Compile, PrintsATable) {
  if (const auto reason = why_not("gfx942"); !reason.empty()) GTEST_SKIP() << reason;
  const Outcome outcome = run({"compile", "spec.yaml", "--target", "gfx942", "-o", "out"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* word : {"registers", "shared", "spilled", "out/small.w3.gfx942.hsaco"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << '\n' << outcome.out;
  }
}

TEST_F(Compile, EmbedsCodeInASource) {
  if (const auto reason = why_not("gfx942"); !reason.empty()) GTEST_SKIP() << reason;
  const Outcome outcome = run({"compile", "spec.yaml", "--target", "gfx942", "-o", "out", "--embed", "gen/small.cpp",
                               "--depfile", "gen/small.d", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string source = read_file(folder_.file("gen/small.cpp"));
  EXPECT_NE(source.find("#include \"small.hpp\""), std::string::npos);
  EXPECT_EQ(read_file(folder_.file("gen/small.d")).rfind("gen/small.cpp:", 0), 0u);
}

TEST_F(Compile, ACompilerThatCannotDoTheTargetIsAnErrorThatSaysSo) {
  const Outcome outcome = run({"compile", "spec.yaml", "--target", "sm_90a", "--compiler", "hiprtc", "-o", "out"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("hiprtc"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_.path() / "out" / "small.w3.sm_90a.cubin"));
}

TEST_F(Compile, TheSecondTimeComesFromTheCache) {
  if (const auto reason = why_not("gfx942"); !reason.empty()) GTEST_SKIP() << reason;
  const std::vector<std::string> compile = {"compile", "spec.yaml", "--target", "gfx942", "-o", "out", "--json"};
  EXPECT_EQ(Json::parse(run(compile).out).at(0)["from_cache"], false);
  const auto first = read_file(folder_.file("out/small.w3.gfx942.hsaco"));
  EXPECT_EQ(Json::parse(run(compile).out).at(0)["from_cache"], true);
  EXPECT_EQ(read_file(folder_.file("out/small.w3.gfx942.hsaco")), first);

  const Json listed = Json::parse(run({"cache", "list", "--json"}).out);
  ASSERT_EQ(listed["entries"].size(), 1u) << listed.dump(2);
  EXPECT_EQ(run({"cache", "clear"}).code, 0);
  EXPECT_EQ(Json::parse(run({"cache", "list", "--json"}).out)["entries"].size(), 0u);
  EXPECT_EQ(Json::parse(run(compile).out).at(0)["from_cache"], false);
}

TEST_F(Compile, AnEmptyCacheIsListedAndCleared) {
  EXPECT_EQ(run({"cache", "list"}).code, 0);
  EXPECT_EQ(run({"cache", "clear"}).code, 0);
}

}  // namespace
}  // namespace irisgen::test::compile_test
