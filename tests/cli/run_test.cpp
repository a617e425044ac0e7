// `irisgen run`, on the CPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "iris/npy.hpp"
#include "iris/values.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::run_test {
namespace {

using Json = nlohmann::json;

const std::string examples = IRISGEN_SOURCE_DIR "/examples/";

class Run : public testing::Test {
 protected:
  void SetUp() override {
    if (!runs_on_cpu()) GTEST_SKIP() << "kernels do not run on the CPU here: see irisgen doctor";
    write_file(folder_.file("spec.yaml"), small_spec());
  }

  Outcome run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "run");
    return irisgen(arguments, {.folder = folder_.path()});
  }

  /// Writes an f32 array that differs in every element.
  void write_input(const std::string& name, std::vector<std::int64_t> shape, double offset) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    Values values;
    for (std::int64_t index = 0; index < count; ++index) values.push_back(offset + 0.25 * static_cast<double>(index));
    iris::write_npy(folder_.file(name), {Dtype::f32, std::move(shape), iris::to_bytes(values, Dtype::f32)});
  }

  TemporaryFolder folder_;
};

TEST_F(Run, VerifiesEveryKernelAndWorld) {
  const Outcome outcome = run({"spec.yaml", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const Json results = Json::parse(outcome.out);
  ASSERT_EQ(results.size(), 2u);
  for (const Json& result : results) {
    EXPECT_EQ(result["verified"], true);
    EXPECT_EQ(result["passed"], true);
    EXPECT_EQ(result["elements"], result["world"].get<int>() * 1001);
    EXPECT_LE(result["worst"]["error"], result["worst"]["tolerance"]);
  }
}

TEST_F(Run, SaysWhereTheLargestErrorIs) {
  const Outcome outcome = run({"spec.yaml", "--world", "5", "--repeat", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("largest error "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" allowed, at rank "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("verified: all 15015 elements of 5 ranks"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Run, TheSeedDecidesTheData) {
  const auto output_of = [&](const std::string& seed) {
    EXPECT_EQ(run({"spec.yaml", "--world", "2", "--seed", seed, "--output", "output=out{rank}.npy"}).code, 0);
    return read_file(folder_.file("out0.npy"));
  };
  const std::string first = output_of("1");
  EXPECT_EQ(output_of("1"), first);
  EXPECT_NE(output_of("2"), first);
}

TEST_F(Run, ReadsInputsAndWritesOutputs) {
  for (int rank = 0; rank < 3; ++rank) write_input("in" + std::to_string(rank) + ".npy", {1001}, rank * 3);
  const Outcome outcome =
      run({"spec.yaml", "--world", "3", "--input", "input=in{rank}.npy", "--output", "output=out{rank}.npy"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (int rank = 0; rank < 3; ++rank) {
    const auto array = iris::read_npy(folder_.file("out" + std::to_string(rank) + ".npy"), Dtype::f32);
    const Values values = iris::to_values(array.bytes, Dtype::f32);
    ASSERT_EQ(values.size(), 1001u);
    for (std::size_t index = 0; index < values.size(); ++index) {
      ASSERT_EQ(values[index], 9 + 0.75 * static_cast<double>(index)) << rank << ' ' << index;
    }
  }
}

TEST_F(Run, AnInputOfTheWrongShapeNamesFileExpectedAndFound) {
  write_input("in0.npy", {1001}, 0);
  write_input("in1.npy", {1002}, 0);
  const Outcome outcome = run({"spec.yaml", "--world", "2", "--input", "input=in{rank}.npy"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("in1.npy: 'input' must have the shape (1001,), but the file's is (1002,)"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Run, AnInputOfTheWrongTypeOrNoneAtAllNamesTheFile) {
  iris::write_npy(folder_.file("in.npy"), {Dtype::f64, {1001}, iris::to_bytes(Values(1001, 1.5), Dtype::f64)});
  const Outcome type = run({"spec.yaml", "--world", "2", "--input", "input=in.npy"});
  EXPECT_EQ(type.code, 1);
  EXPECT_NE(type.err.find("in.npy"), std::string::npos) << type.err;
  const Outcome none = run({"spec.yaml", "--world", "2", "--input", "input=missing{rank}.npy"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("missing0.npy"), std::string::npos) << none.err;
}

TEST_F(Run, WrongAssignmentsAreBadUsage) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--input", "inputs=a.npy"},
                                             {"--input", "a.npy"},
                                             {"--output", "output=same_for_all.npy"},
                                             {"--output", "input=a.npy"},
                                             {"--extent", "n=5"},
                                             {"--extent", "q=5"}}) {
    std::vector<std::string> arguments = {"spec.yaml", "--world", "2"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << wrong[1] << outcome.err;
  }
  EXPECT_EQ(run({"spec.yaml", "--input", "input=in{rank}.npy"}).code, 2) << "two worlds";
}

TEST_F(Run, AnOutputFolderThatIsNotThereIsToldBeforeTheWork) {
  const Outcome outcome = run({"spec.yaml", "--world", "2", "--output", "output=no/such/out{rank}.npy"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("there is no folder no/such; make it first"), std::string::npos) << outcome.err;
}

TEST_F(Run, WhatDoesNotFitIntoMemoryIsASentence) {
  std::string spec = small_spec("8");
  spec.replace(spec.find("1001"), 4, "100000000000");
  write_file(folder_.file("huge.yaml"), spec);
  const Outcome outcome = run({"huge.yaml"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("of this machine's memory, but "), std::string::npos) << outcome.err;
}

TEST_F(Run, ACacheThatCannotBeUsedIsTold) {
  const Outcome outcome =
      irisgen({"run", "spec.yaml", "--world", "1", "--json"},
              {.folder = folder_.path(), .environment = {{"IRISGEN_CACHE", folder_.file("spec.yaml")}}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Json::accept(outcome.out)) << outcome.out;
  EXPECT_NE(outcome.err.find("irisgen: note: the cache in "), std::string::npos) << outcome.err;
}

TEST_F(Run, DynamicExtentsComeFromTheCommandLineOrTheFiles) {
  write_file(folder_.file("spec.yaml"),
             "irisgen: 1\nkernels:\n  - {name: any, pattern: all_reduce, dtype: f32, world: 2, shape: {n: dynamic}}\n");
  const Outcome unknown = run({"spec.yaml"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--extent n="), std::string::npos) << unknown.err;
  EXPECT_EQ(Json::parse(run({"spec.yaml", "--extent", "n=77", "--json"}).out).at(0)["elements"], 154);
  write_input("in.npy", {33}, 1);
  EXPECT_EQ(Json::parse(run({"spec.yaml", "--input", "input=in.npy", "--json"}).out).at(0)["elements"], 66);
  EXPECT_EQ(run({"spec.yaml", "--extent", "n=-1"}).code, 2);
}

TEST_F(Run, AnExtentIsOfAllKernelsThatLeaveItOpen) {
  write_file(folder_.file("spec.yaml"),
             "irisgen: 1\ndefaults: {dtype: f32, world: 2}\nkernels:\n"
             "  - {name: open, pattern: all_reduce, shape: {n: dynamic}}\n"
             "  - {name: fixed, pattern: all_reduce, shape: {n: 5}}\n"
             "  - {name: product, pattern: matmul, shape: {m: 3, n: 7, k: dynamic}}\n");
  const Outcome outcome = run({"spec.yaml", "--extent", "n=77", "--extent", "k=4", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json all = Json::parse(outcome.out);
  EXPECT_EQ(all.at(0)["elements"], 2 * 77);
  EXPECT_EQ(all.at(1)["elements"], 2 * 5);
  EXPECT_EQ(all.at(2)["elements"], 2 * 3 * 7);
  const Outcome closed = run({"spec.yaml", "--extent", "n=77", "--extent", "k=4", "--extent", "m=3"});
  EXPECT_EQ(closed.code, 2);
  EXPECT_NE(closed.err.find("m is fixed by its specification, not `dynamic`"), std::string::npos) << closed.err;
  EXPECT_EQ(closed.out, "");
}

TEST_F(Run, AnExtentThatDoesNotDivideIsRefusedBeforeAnythingIsCompiled) {
  write_file(folder_.file("spec.yaml"),
             "irisgen: 1\ndefaults: {dtype: f32, world: 4}\nkernels:\n"
             "  - {name: summed, pattern: matmul_reduce_scatter, shape: {m: dynamic, n: 3, k: 5}}\n");
  const Outcome outcome = run({"spec.yaml", "--extent", "m=9"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--extent m=9: summed takes multiples of 4, since 'output' is divided among the ranks"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("compil"), std::string::npos) << outcome.err;
  const Outcome divided = run({"spec.yaml", "--extent", "m=8"});
  EXPECT_EQ(divided.code, 0) << divided.err;
}

TEST_F(Run, WithoutVerificationNothingIsClaimed) {
  const Outcome outcome = run({"spec.yaml", "--world", "2", "--no-verify"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("not verified"), std::string::npos) << outcome.out;
}

TEST_F(Run, TheGradientsOfEightRanksAreSummed) {
  const Outcome outcome =
      run({examples + "01_gradient_sum/spec.yaml", "--input", "input=" + examples + "data/gradient_rank{rank}.npy",
           "--output", "output=sum{rank}.npy"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const Values expected =
      iris::to_values(iris::read_npy(examples + "data/gradient_sum_f64.npy", Dtype::f64).bytes, Dtype::f64);
  for (int rank = 0; rank < 8; ++rank) {
    const auto array = iris::read_npy(folder_.file("sum" + std::to_string(rank) + ".npy"), Dtype::f32);
    const Values values = iris::to_values(array.bytes, Dtype::f32);
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
      // Seven additions of f32, each off by half a unit of the last place of a partial sum at most.
      ASSERT_NEAR(values[index], expected[index], 1e-6) << "rank " << rank << ", element " << index;
    }
  }
}

TEST_F(Run, TheLayerIsGatheredAndMultiplied) {
  const Outcome outcome =
      run({examples + "02_layer/spec.yaml", "--input", "a=" + examples + "data/activation_rank{rank}.npy", "--input",
           "b=" + examples + "data/weight_rank{rank}.npy"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("verified: all 458752 elements of 8 ranks"), std::string::npos) << outcome.out;
}

TEST_F(Run, AWrongElementOfAKernelOfOnesOwnNamesTheLineThatStoredIt) {
  write_file(folder_.file("k.hip"),
             "#include <iris/device/partition.hpp>\n#include <iris/device/rma.hpp>\nusing namespace iris::device;\n"
             "template <typename Config>\n"
             "__device__ void f(const Context& context, IRIS_SYMMETRIC f32* output, i64 n) {\n"
             "  const ThreadGroup threads = grid_threads<Config>();\n"
             "  for (i64 i = threads.index; i < n; i += threads.size) {\n"
             "    if (i < n - 1) output[i] = i;\n"
             "    if (i == n - 1) output[i] = -1;\n"
             "  }\n}\n");
  write_file(folder_.file("r.cpp"),
             "void r(double* const* output, long long n) {\n"
             "  for (int k = 0; k < 2; ++k) for (long long i = 0; i < n; ++i) output[k][i] = i;\n}\n");
  write_file(folder_.file("own.yaml"),
             "irisgen: 1\nkernels:\n  - {name: own, source: k.hip, entry: f, dtype: f32, world: 2, shape: {n: 5},\n"
             "     config: {blocks: 1, threads: 8}, reference: {source: r.cpp, function: r}}\n");
  const Outcome outcome = run({"own.yaml"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("output[4]: -1, expected 4; last stored by k.hip:9:31 (rank 0, block 0, thread 4)"),
            std::string::npos)
      << outcome.out << outcome.err;
  const Json stored = Json::parse(run({"own.yaml", "--json"}).out).at(0)["worst"]["stored_by"];
  EXPECT_EQ(stored["place"], "k.hip:9:31");
}

TEST_F(Run, ANumberByValueIsTheDescriptions) {
  write_file(folder_.file("k.hip"),
             "#include <iris/device/partition.hpp>\nusing namespace iris::device;\n"
             "template <typename Config>\n"
             "__device__ void f(const Context&, f32* output, f32 alpha, i64 n) {\n"
             "  const ThreadGroup threads = grid_threads<Config>();\n"
             "  for (i64 i = threads.index; i < n; i += threads.size) output[i] = alpha * i;\n}\n");
  write_file(folder_.file("r.cpp"),
             "void r(double* const* output, double alpha, long long n) {\n"
             "  for (int k = 0; k < 2; ++k) for (long long i = 0; i < n; ++i) output[k][i] = alpha * i;\n}\n");
  const std::string text =
      "irisgen: 1\nkernels:\n  - {name: own, source: k.hip, entry: f, dtype: f32, world: [2, 1], shape: {n: 5},\n"
      "     reference: {source: r.cpp, function: r}";
  write_file(folder_.file("own.yaml"), text + "}\n");
  const Outcome without = run({"own.yaml", "--world", "2"});
  EXPECT_EQ(without.code, 2);
  EXPECT_NE(without.err.find("own.yaml:3:39: error: f takes 'alpha' by value, and nothing says which; add arguments: "
                             "{alpha: {value: 1}}"),
            std::string::npos)
      << without.err;
  write_file(folder_.file("own.yaml"), text + ", arguments: {alpha: {value: 0.5}}}\n");
  const Outcome with = run({"own.yaml", "--world", "2", "--output", "output=o{rank}.npy"});
  ASSERT_EQ(with.code, 0) << with.out << with.err;
  const iris::NpyArray output = iris::read_npy(folder_.file("o1.npy"), Dtype::f32);
  EXPECT_EQ(iris::to_values(output.bytes, Dtype::f32), (Values{0, 0.5, 1, 1.5, 2}));
}

TEST_F(Run, ACompilerThatIsNotThereIsAnErrorThatSaysSo) {
  const Outcome outcome = run({"spec.yaml", "--compiler", "nonesuch"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("nonesuch"), std::string::npos) << outcome.err;
  const Outcome near = run({"spec.yaml", "--compiler", "clagn"});
  EXPECT_NE(near.err.find("did you mean 'clang'?"), std::string::npos) << near.err;
}

}  // namespace
}  // namespace irisgen::test::run_test
