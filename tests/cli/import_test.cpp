// import: what it prints, writes and ends with. What it makes of kernels is tested in tests/runtime/import_test.cpp.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "iris/compiler.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::import_test {
namespace {

class ImportCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (const iris::MissingCompiler& missing : iris::Compilers::instance().missing) {
      if (missing.name == "clang") GTEST_SKIP() << missing.reason << "; " << missing.remedy;
    }
    write_file(folder_.file("k.cu"),
               "__global__ void twice(const float* in, float* out, int n) { out[n] = 2 * in[n]; }\n");
    write_file(folder_.file("two.cu"), "__global__ void a(float* x) {}\n__global__ void b(float* x) {}\n");
    write_file(folder_.file("k.hip"),
               "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
               "__device__ void f(const Context& context, const f32* in, f32* out, i64 n) { out[0] = in[0]; }\n");
  }
  Outcome import(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "import");
    return irisgen(arguments, {.folder = folder_.path()});
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

TEST_F(ImportCommand, PrintsTheDescriptionAndTheListApart) {
  const Outcome outcome = import({"k.cu"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("    source: k.cu\n    entry: twice\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("warning"), std::string::npos);
  EXPECT_NE(outcome.err.find("k.cu:1:52: warning: 'n' is an extent of the shape: write i64 n [import-extent]"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ImportCommand, MakesOfAKernelInTheVocabularyWhatCheckAndRunAccept) {
  const Outcome outcome = import({"k.hip", "--world", "2", "-o", "k.yaml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(irisgen({"check", "k.yaml"}, {.folder = folder().path()}).code, 0);
  const Outcome run = irisgen({"run", "k.yaml"}, {.folder = folder().path()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("2 ranks"), std::string::npos) << run.out;
}

TEST_F(ImportCommand, OverwritesNothingUnasked) {
  write_file(folder().file("k.yaml"), "mine\n");
  const Outcome refused = import({"k.cu", "-o", "k.yaml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("-o k.yaml is there already; name another file, or add --force"), std::string::npos);
  EXPECT_EQ(read_file(folder().file("k.yaml")), "mine\n");
  EXPECT_EQ(import({"k.cu", "-o", "k.yaml", "--force"}).code, 0);
  EXPECT_NE(read_file(folder().file("k.yaml")).find("entry: twice"), std::string::npos);
  EXPECT_EQ(import({"k.cu", "-o", "k.cu", "--force"}).code, 2);
  EXPECT_NE(read_file(folder().file("k.cu")).find("__global__"), std::string::npos);
}

TEST_F(ImportCommand, WritesNothingWhereThereIsNoKernelToDescribe) {
  const Outcome outcome = import({"two.cu", "-o", "two.yaml"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("two.cu:2:17: error: there are several kernels here; name one by --entry: a, b"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder().file("two.yaml")));
  EXPECT_EQ(import({"missing.cu"}).code, 2);
}

TEST_F(ImportCommand, PrintsJson) {
  const Outcome outcome = import({"k.cu", "--json"});
  EXPECT_EQ(outcome.code, 0);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("file"), "k.cu");
  EXPECT_EQ(json.at("entry"), "twice");
  EXPECT_EQ(json.at("complete"), false);
  EXPECT_FALSE(json.at("findings").empty());
}

}  // namespace
}  // namespace irisgen::test::import_test
