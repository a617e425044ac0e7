// Subcommands that tell: check, explain, list, schema, doctor.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/program.hpp"

namespace irisgen::test::inspect_test {
namespace {

using Json = nlohmann::json;

constexpr const char* wrong_spec = R"(irisgen: 1
kernels:
  - name: first
    pattern: all_reduce
    dtype: f32
    world: 8
    shape: {n: -5}
    variant: twoshot
)";

TEST(Check, ARightSpecificationIsZero) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), small_spec());
  const Outcome outcome = irisgen({"check", folder.file("spec.yaml")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("ok, 2 kernels"), std::string::npos) << outcome.out;
}

TEST(Check, EveryErrorIsShownWithItsPlaceAndACaret) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), wrong_spec);
  const Outcome outcome = irisgen({"check", "spec.yaml"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("spec.yaml:7:"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("spec.yaml:8:14: error: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("did you mean 'two_shot'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("    variant: twoshot\n"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find('^'), std::string::npos) << outcome.err;
}

TEST(Check, AReferenceIsReadAsTheKernelIs) {
  if (!runs_on_cpu()) GTEST_SKIP() << "kernels are not read here: see irisgen doctor";
  const TemporaryFolder folder;
  write_file(folder.file("k.hip"),
             "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
             "__device__ void f(const Context&, f32* output, i64 n) {\n  output[0] = n;\n}\n");
  write_file(
      folder.file("spec.yaml"),
      "irisgen: 1\nkernels:\n  - {name: own, source: k.hip, entry: f, dtype: f32, world: [1, 2], shape: {n: 5},\n"
      "     reference: {source: r.cpp, function: r}}\n");
  const auto check = [&] { return irisgen({"check", "spec.yaml"}, {.folder = folder.path()}); };
  const Outcome missing = check();
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("spec.yaml:4:17: error: "), std::string::npos) << missing.err;
  EXPECT_NE(missing.err.find("r.cpp"), std::string::npos) << missing.err;
  write_file(folder.file("r.cpp"), "void r(float* const* output, long long n) {}\n");
  const Outcome wrong = check();
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("r.cpp:1:22: error: 'output' must be double* const*"), std::string::npos) << wrong.err;
  write_file(folder.file("r.cpp"), "void r(double* const* output, long long n) {}\n");
  const Outcome right = check();
  EXPECT_EQ(right.code, 0) << right.err;
}

TEST(Check, SeveralFilesAreAllChecked) {
  const TemporaryFolder folder;
  write_file(folder.file("right.yaml"), small_spec());
  write_file(folder.file("wrong.yaml"), wrong_spec);
  const Outcome outcome = irisgen({"check", "wrong.yaml", "right.yaml", "--json"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.code, 2);
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["ok"], false);
  EXPECT_EQ(json[0]["errors"].size(), 2u);
  EXPECT_EQ(json[0]["errors"][1]["line"], 8);
  EXPECT_EQ(json[0]["errors"][1]["column"], 14);
  EXPECT_EQ(json[1]["ok"], true);
  EXPECT_EQ(json[1]["kernels"], 2);
}

TEST(Check, ErrorsOfOneFileEndTheirLineBeforeThoseOfTheNext) {
  const TemporaryFolder folder;
  write_file(folder.file("wrong.yaml"), wrong_spec);
  const Outcome outcome = irisgen({"check", "wrong.yaml", "wrong.yaml"}, {.folder = folder.path()});
  EXPECT_NE(outcome.err.find("^\nwrong.yaml:7:"), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("^\n")) << outcome.err;
  const Outcome explained = irisgen({"explain", "wrong.yaml"}, {.folder = folder.path()});
  EXPECT_TRUE(explained.err.ends_with("^\n")) << explained.err;
}

TEST(Check, AFileThatCannotBeReadDoesNotHideTheOthers) {
  const TemporaryFolder folder;
  write_file(folder.file("right.yaml"), small_spec());
  const Outcome outcome = irisgen({"check", "missing.yaml", "right.yaml"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("cannot read missing.yaml"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("right.yaml: ok"), std::string::npos) << outcome.out;
  const Json json =
      Json::parse(irisgen({"check", "missing.yaml", "right.yaml", "--json"}, {.folder = folder.path()}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["ok"], false);
  EXPECT_NE(json[0]["errors"][0]["message"].get<std::string>().find("cannot read"), std::string::npos);
  EXPECT_EQ(json[1]["ok"], true);
}

TEST(Check, WhatCannotBePlannedIsShownForEveryKernelWithItsLine) {
  const TemporaryFolder folder;
  std::string spec = small_spec("16");
  spec += "  - {name: b, pattern: all_gather, dtype: f32, world: 2, shape: {n: 5}, config: {threads: 100}}\n";
  write_file(folder.file("spec.yaml"), spec);
  for (const std::string command : {"check", "explain"}) {
    const Outcome outcome = irisgen({command, "spec.yaml", "--target", "gfx942"}, {.folder = folder.path()});
    EXPECT_EQ(outcome.code, 2);
    const std::string quoted =
        "spec.yaml:6:12: error: for gfx942: a world of 16 ranks; world must be from 1 to 8 there\n"
        "    6 |     world: 16\n      |            ^\nspec.yaml:8:";
    EXPECT_NE(outcome.err.find(quoted), std::string::npos) << outcome.err;
  }
  write_file(folder.file("fused.yaml"),
             "irisgen: 1\nkernels:\n  - name: e\n    pattern: all_gather_matmul\n"
             "    dtype: f16\n    world: 3\n    shape: {m: 9, n: 10, k: 3}\n");
  const Outcome unfit = irisgen({"explain", "fused.yaml", "--world", "2"}, {.folder = folder.path()});
  EXPECT_NE(unfit.err.find("    7 |     shape: {m: 9, n: 10, k: 3}\n"), std::string::npos) << unfit.err;
}

TEST(Check, WhatOnlySomeTargetsCannotDoIsANote) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), small_spec("16"));  // more ranks than GPUs can have
  const Outcome outcome = irisgen({"check", "spec.yaml"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "spec.yaml: ok, 1 kernel\n");
  EXPECT_NE(outcome.err.find("spec.yaml:6:12: note: for gfx90a, gfx942, gfx950, sm_90a: a world of 16 ranks"),
            std::string::npos)
      << outcome.err;
  const Json json = Json::parse(irisgen({"check", "spec.yaml", "--json"}, {.folder = folder.path()}).out).at(0);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["notes"].size(), 1u);
  EXPECT_EQ(json["targets"]["host"]["ok"], true);
  EXPECT_EQ(json["targets"]["gfx942"]["ok"], false);
  EXPECT_EQ(json["targets"]["gfx942"]["errors"][0]["line"], 6);

  // What no target can do is an error, whichever are asked for.
  write_file(folder.file("spec.yaml"),
             "irisgen: 1\nkernels: [{name: a, pattern: all_gather_matmul, dtype: f32, world: 3, shape: {m: 4, n: 1, k: "
             "1}}]\n");
  const Outcome wrong = irisgen({"check", "spec.yaml"}, {.folder = folder.path()});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("error: for host, gfx90a, gfx942, gfx950, sm_90a: m = 4 rows"), std::string::npos)
      << wrong.err;
}

TEST(Check, ReadsStandardInput) {
  const Outcome right = irisgen({"check", "-"}, {.input = small_spec()});
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_EQ(right.out, "<stdin>: ok, 2 kernels\n");
  const Outcome wrong = irisgen({"check", "-"}, {.input = wrong_spec});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("<stdin>:8:14: error: "), std::string::npos) << wrong.err;
}

TEST(Check, AFileThatIsNotThereIsBadUsage) {
  const Outcome outcome = irisgen({"check", "/nowhere/at/all.yaml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("/nowhere/at/all.yaml"), std::string::npos) << outcome.err;
}

TEST(Explain, ShowsAPlanForEachWorldAndTarget) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), small_spec());
  const Outcome text =
      irisgen({"explain", "spec.yaml", "--target", "gfx942", "--target", "host"}, {.folder = folder.path()});
  EXPECT_EQ(text.code, 0) << text.err;
  const Outcome outcome =
      irisgen({"explain", "spec.yaml", "--target", "gfx942", "--target", "host", "--json"}, {.folder = folder.path()});
  const Json plans = Json::parse(outcome.out);
  ASSERT_EQ(plans.size(), 4u);
  for (const Json& plan : plans) EXPECT_FALSE(plan["choices"].empty());
  const Outcome one = irisgen({"explain", "spec.yaml", "--world", "5", "--json"}, {.folder = folder.path()});
  EXPECT_EQ(Json::parse(one.out).size(), 1u);
}

TEST(Explain, PutsSeveralTargetsSideBySide) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), small_spec("4"));
  const Outcome outcome =
      irisgen({"explain", "spec.yaml", "--target", "gfx942", "--target", "host"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(" gfx942 "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("host\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n  threads "), std::string::npos) << outcome.out;
}

TEST(Explain, HoldsAWorldOfTheCommandLineToEveryRule) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"),
             "irisgen: 1\nkernels: [{name: a, pattern: broadcast, root: 3, dtype: f32, world: 4, shape: {n: 1}}]\n");
  const Outcome outcome = irisgen({"explain", "spec.yaml", "--world", "3"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("spec.yaml:2:47: error: root 3 is not a rank of a world of 3 (--world)"),
            std::string::npos)
      << outcome.err;
}

TEST(List, TellsPatternsVariantsAndTargets) {
  const Outcome text = irisgen({"list"});
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* word : {"all_reduce", "two_shot", "matmul_reduce_scatter", "bf16", "gfx950", "sm_90a", "host"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word;
  }
  const Json json = Json::parse(irisgen({"list", "--json"}).out);
  std::set<std::string> patterns;
  std::set<std::string> in_any_order;
  for (const Json& pattern : json["patterns"]) {
    for (const Json& variant : pattern["variants"]) {
      if (!variant["deterministic"]) in_any_order.insert(variant["name"]);
    }
    patterns.insert(pattern["name"]);
    EXPECT_FALSE(pattern["variants"].empty());
    EXPECT_GE(pattern["extents"].size(), 2u);
  }
  for (const char* name : {"all_reduce", "all_gather", "matmul", "matmul_all_reduce"})
    EXPECT_TRUE(patterns.contains(name)) << name;
  EXPECT_EQ(in_any_order, (std::set<std::string>{"atomic", "spinlock"}));
  EXPECT_EQ(json["dtypes"], Json({"f64", "f32", "tf32", "f16", "bf16", "e4m3", "i32"}));
  EXPECT_EQ(json["ops"], Json({"sum", "max", "min", "prod"}));
}

TEST(Schema, IsJsonAndDraft7) {
  for (const char* name : {"spec", "manifest"}) {
    const Outcome outcome = irisgen({"schema", name});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["$schema"], "http://json-schema.org/draft-07/schema#");
  }
  EXPECT_EQ(irisgen({"schema"}).out, irisgen({"schema", "spec"}).out);
}

TEST(Doctor, NamesEveryCompilerPresentOrMissing) {
  const Outcome text = irisgen({"doctor"});
  for (const char* word : {"clang", "hiprtc", "nvrtc", "host", "cache"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word << '\n' << text.out;
  }
  const Json json = Json::parse(irisgen({"doctor", "--json"}).out);
  EXPECT_EQ(json["compilers"].size() + json["missing_compilers"].size(), 3u) << json.dump(2);
  for (const Json& missing : json["missing_compilers"]) EXPECT_FALSE(missing["remedy"].get<std::string>().empty());
  EXPECT_EQ(text.code, json["compilers"].empty() ? 1 : 0);
}

}  // namespace
}  // namespace irisgen::test::inspect_test
