// `irisgen generate`: what is written, what is left alone, what is never half done.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

namespace irisgen::test::generate_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Generate : public testing::Test {
 protected:
  void SetUp() override { write_file(folder_.file("spec.yaml"), small_spec()); }

  Outcome generate(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"generate", "spec.yaml", "-o", "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return irisgen(arguments, {.folder = folder_.path()});
  }

  fs::path out() const { return folder_.path() / "out"; }

  TemporaryFolder folder_;
};

TEST_F(Generate, WritesSourceManifestAndLauncher) {
  const Outcome outcome = generate({"--target", "gfx942", "--target", "sm_90a"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* name : {"small.hpp", "small.w2.gfx942.hip", "small.w2.gfx942.json", "small.w3.gfx942.hip",
                           "small.w3.gfx942.json", "small.w2.sm_90a.hip", "small.w3.sm_90a.json"}) {
    EXPECT_TRUE(fs::exists(out() / name)) << name;
  }
  EXPECT_EQ(Json::parse(read_file(out() / "small.w3.gfx942.json"))["problem"]["world"], 3);
}

TEST_F(Generate, NamesTheLaunchersNamespaceAndTheLicense) {
  ASSERT_EQ(
      generate({"--target", "host", "--namespace", "app::kernels", "--license", "SPDX-License-Identifier: MIT"}).code,
      0);
  EXPECT_NE(read_file(out() / "small.hpp").find("namespace app::kernels {"), std::string::npos);
  for (const char* name : {"small.hpp", "small.w2.host.hip"}) {
    EXPECT_TRUE(read_file(out() / name).starts_with("// SPDX-License-Identifier: MIT\n")) << name;
  }
  const Outcome wrong = generate({"--namespace", "app::class"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("app::class"), std::string::npos) << wrong.err;
  EXPECT_EQ(generate({"--license", "two\nlines"}).code, 2);
}

TEST_F(Generate, ReadsStandardInput) {
  const Outcome outcome =
      irisgen({"generate", "-", "-o", "out", "--target", "host"}, {.folder = folder_.path(), .input = small_spec("3")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(out() / "small.w3.host.hip"));
}

TEST_F(Generate, IsTheSameInEveryFolderAndEveryTime) {
  ASSERT_EQ(generate().code, 0);
  const auto first = contents_of(out());
  const TemporaryFolder elsewhere;
  fs::create_directory(elsewhere.path() / "deeper");
  write_file(elsewhere.file("deeper/spec.yaml"), small_spec());
  ASSERT_EQ(irisgen({"generate", elsewhere.file("deeper/spec.yaml"), "-o", elsewhere.file("deeper/out")},
                    {.folder = "/", .environment = {{"LC_ALL", "C.UTF-8"}, {"TZ", "Asia/Tokyo"}}})
                .code,
            0);
  EXPECT_EQ(contents_of(elsewhere.path() / "deeper/out"), first);
}

TEST_F(Generate, LeavesUnchangedFilesUntouched) {
  ASSERT_EQ(generate().code, 0);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const auto& entry : fs::directory_iterator(out())) fs::last_write_time(entry, long_ago);
  const Outcome again = generate({"--json"});
  EXPECT_EQ(Json::parse(again.out)["written"].size(), 0u);
  EXPECT_GT(Json::parse(again.out)["unchanged"].size(), 0u);
  for (const auto& entry : fs::directory_iterator(out())) EXPECT_EQ(fs::last_write_time(entry), long_ago) << entry;
}

TEST_F(Generate, RemovesTheFilesOfKernelsThatLeft) {
  ASSERT_EQ(generate({"--target", "gfx942"}).code, 0);
  write_file(out() / "mine.txt", "not irisgen's");
  write_file(folder_.file("spec.yaml"), small_spec("3"));
  const Outcome outcome = generate({"--target", "gfx942", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["removed"], Json({"small.w2.gfx942.hip", "small.w2.gfx942.json"}));
  EXPECT_FALSE(fs::exists(out() / "small.w2.gfx942.hip"));
  EXPECT_TRUE(fs::exists(out() / "small.w3.gfx942.hip"));
  EXPECT_TRUE(fs::exists(out() / "mine.txt"));
}

TEST_F(Generate, DryRunTouchesNothing) {
  const Outcome outcome = generate({"--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("would be written"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Generate, DepfileNamesOutputsAndSpecification) {
  ASSERT_EQ(generate({"--target", "host", "--depfile", "deps/small.d"}).code, 0);
  const std::string text = read_file(folder_.path() / "deps/small.d");
  const auto colon = text.find(':');
  ASSERT_NE(colon, std::string::npos) << text;
  EXPECT_LT(text.find("out/small.hpp"), colon);
  EXPECT_LT(text.find("out/small.w3.host.hip"), colon);
  EXPECT_GT(text.find("spec.yaml"), colon);
}

TEST_F(Generate, SelfContainedSourceCompilesAlone) {
  if (run_program("clang++-22", {"--version"}).code != 0) GTEST_SKIP() << "clang++-22 is not installed (clang-22)";
  ASSERT_EQ(generate({"--target", "gfx942", "--self-contained"}).code, 0);
  const std::string source = read_file(out() / "small.w3.gfx942.hip");
  EXPECT_EQ(source.find("#include"), std::string::npos);
  const Outcome compiled = run_program(
      "clang++-22", {"-x", "hip", "--cuda-device-only", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-std=c++20",
                     "-O2", "-S", "-o", folder_.file("kernel.s"), (out() / "small.w3.gfx942.hip").string()});
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_NE(read_file(folder_.file("kernel.s")).find(".amdhsa_kernel"), std::string::npos);
}

TEST_F(Generate, AWrongSpecificationWritesNothing) {
  write_file(folder_.file("spec.yaml"), small_spec() + "  - {name: second, pattern: all_redue}\n");
  const Outcome outcome = generate();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("spec.yaml:8:"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Generate, AFolderThatCannotBeWrittenIsAFailureAndHoldsNothingHalf) {
  const Outcome outcome = irisgen({"generate", "spec.yaml", "-o", "/proc/irisgen"}, {.folder = folder_.path()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("/proc/irisgen"), std::string::npos) << outcome.err;
}

TEST_F(Generate, AFolderThatCannotBeIsASentence) {
  for (const std::string folder : {"spec.yaml", "spec.yaml/below"}) {
    const Outcome outcome = irisgen({"generate", "spec.yaml", "-o", folder}, {.folder = folder_.path()});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "irisgen: error: cannot make the folder " + folder + ": Not a directory\n");
  }
}

TEST_F(Generate, AFullDiskLeavesNoHalfFile) {
  // RLIMIT_FSIZE ends a write in the middle of a file, as a full disk does.
  const Outcome outcome =
      run_program("bash", {"-c", "ulimit -f 1; exec " + std::string(IRISGEN_PROGRAM) + " generate spec.yaml -o out"},
                  {.folder = folder_.path()});
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write out/"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(out() / ".irisgen.unfinished"));
  const TemporaryFolder fresh;
  ASSERT_EQ(irisgen({"generate", "spec.yaml", "-o", fresh.file("out")}, {.folder = folder_.path()}).code, 0);
  const auto whole = contents_of(fresh.path() / "out");
  for (const auto& [name, content] : contents_of(out())) {
    EXPECT_TRUE(name[0] == '.' || content == whole.at(name)) << name;
  }
  ASSERT_EQ(generate().code, 0) << "the next run finishes the work";
  EXPECT_EQ(contents_of(out()).size(), whole.size());
}

TEST_F(Generate, WritesThroughNoLink) {
  fs::create_directory(out());
  write_file(folder_.file("precious"), "precious");
  fs::create_symlink(folder_.path() / "precious", out() / "small.hpp");
  const Outcome outcome = generate();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(read_file(folder_.file("precious")), "precious");
}

}  // namespace
}  // namespace irisgen::test::generate_test
