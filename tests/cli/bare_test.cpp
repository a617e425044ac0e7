// `irisgen generate --bare`: what is written, that vendors' compilers take it, and that it runs, which on the CPU
// stands for GPUs: bare/hip/hip_runtime.h.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "iris/source_reader.hpp"
#include "irisgen/generate.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::bare_test {
namespace {

namespace fs = std::filesystem;

const fs::path sources = fs::path(IRISGEN_SOURCE_DIR) / "tests/cli/bare";
const std::string goldens = IRISGEN_SOURCE_DIR "/tests/generator/goldens/goldens.yaml";
const std::string gpu_test = IRISGEN_SOURCE_DIR "/tests/bare";
const std::string example = IRISGEN_SOURCE_DIR "/examples/09_bare";

class Bare : public testing::Test {
 protected:
  Outcome generate(const std::string& spec, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"generate", spec, "-o", "out", "--bare"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return irisgen(arguments, {.folder = folder_.path()});
  }

  /// Products with a prologue, where something here can read its source.
  void generate_prologues(const std::string& target) const {
    if (!runs_on_cpu()) return;
    fs::copy_file(sources / "square.hip", folder_.path() / "square.hip");
    write_file(folder_.file("prologues.yaml"),
               "irisgen: 1\n"
               "defaults: {world: 2, shape: {m: dynamic, n: 64, k: 64}, layout: {b: nk},\n"
               "           prologue: {source: square.hip, function: square}}\n"
               "kernels:\n"
               "  - {name: of_bf16, pattern: matmul_reduce_scatter, dtype: bf16}\n"
               "  - {name: of_tf32, pattern: all_gather_matmul, variant: bulk_synchronous, dtype: tf32}\n"
               "  - {name: of_e4m3, pattern: all_gather_matmul, variant: producer_consumer, dtype: e4m3}\n");
    const Outcome outcome = generate("prologues.yaml", {"--target", target});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  /// A source that includes every bare header of `out`.
  std::string include_all(const std::string& name) const {
    std::string text;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "out")) {
      const std::string file = entry.path().filename();
      if (file.ends_with(".bare.hpp")) text += "#include \"out/" + file + "\"\n";
    }
    write_file(folder_.file(name), text);
    return folder_.file(name);
  }

  TemporaryFolder folder_;
};

TEST_F(Bare, WritesSelfContainedSourcesAndAHeaderOfEachForGpusAlone) {
  write_file(folder_.file("spec.yaml"), small_spec("2"));
  const Outcome outcome = generate("spec.yaml", {});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(folder_.path() / "out/small.w2.sm_90a.bare.hpp"));
  EXPECT_TRUE(fs::exists(folder_.path() / "out/small.w2.gfx90a.bare.hpp"));
  EXPECT_EQ(read_file(folder_.path() / "out/small.w2.sm_90a.hip").find("#include"), std::string::npos);
  for (const auto& [name, content] : contents_of(folder_.path() / "out")) {
    const bool is_of_runtime = name == "small.hpp" || name.find("host") != std::string::npos;
    const bool is_manifest = name.ends_with(".json") && name != ".irisgen.json";
    EXPECT_FALSE(is_of_runtime || is_manifest) << name;
  }
}

TEST_F(Bare, RefusesTheCpuInWords) {
  write_file(folder_.file("spec.yaml"), small_spec("2"));
  const Outcome outcome = generate("spec.yaml", {"--target", "host", "--target", "sm_90a"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--bare writes launchers for HIP or CUDA"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
}

TEST_F(Bare, IsCompiledByNvcc) {
  const std::string nvcc = "/usr/local/cuda/bin/nvcc";
  if (!fs::exists(nvcc)) GTEST_SKIP() << nvcc << " is not installed";
  ASSERT_EQ(generate(goldens, {"--target", "sm_90a"}).code, 0);
  generate_prologues("sm_90a");
  const std::string all = include_all("all.cu");
  for (const std::string& spec : {example + "/spec.yaml", gpu_test + ".yaml"})
    ASSERT_EQ(generate(spec, {"--target", "sm_90a"}).code, 0);
  for (const std::string& source : {all, example + "/all_reduce.cpp", gpu_test + ".cu"}) {
    const Outcome compiled =
        run_program(nvcc, {"-std=c++20", "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Werror", "-gencode",
                           "arch=compute_90a,code=sm_90a", "-I" + folder_.file("out"), "-x", "cu", "-c", source, "-o",
                           folder_.file("code.o")});
    EXPECT_EQ(compiled.code, 0) << source << compiled.out << compiled.err;
  }
}

/// HIP's own headers, those of Debian (5.2.3) too, which want of Clang 22 what it no longer has: a macro, and wrappers
/// of the standard library's headers.
TEST_F(Bare, IsCompiledByClangForAmd) {
  if (run_program("clang++-22", {"--version"}).code != 0) GTEST_SKIP() << "clang++-22 is not installed (clang-22)";
  if (!fs::exists("/usr/include/hip/hip_runtime.h")) GTEST_SKIP() << "HIP's headers are not there (libamdhip64-dev)";
  ASSERT_EQ(generate(goldens, {"--target", "gfx942"}).code, 0);
  generate_prologues("gfx942");
  const std::string all = include_all("all.hip");
  ASSERT_EQ(generate(example + "/spec.yaml", {"--target", "gfx942"}).code, 0);
  fs::create_directories(folder_.path() / "include/cuda_wrappers");
  for (const char* wrapper : {"algorithm", "complex", "new"})
    write_file(folder_.path() / "include/cuda_wrappers" / wrapper, "");
  const auto compile = [&](const std::string& side, const std::string& source, const std::string& how) {
    return run_program("clang++-22",
                       {"-x", "hip", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", side, "--offload-arch=gfx942",
                        "-nogpuinc", "-nogpulib", "-D__AMDGCN_WAVEFRONT_SIZE=64", "-I" + folder_.path().string(),
                        "-I" + folder_.file("out"), how, source, "-o", folder_.file("code.s")});
  };
  for (const std::string side : {"--cuda-device-only", "--cuda-host-only"}) {
    const Outcome read = compile(side, all, "-fsyntax-only");
    EXPECT_EQ(read.code, 0) << side << read.err;
    const Outcome compiled = compile(side, example + "/all_reduce.cpp", "-S");
    ASSERT_EQ(compiled.code, 0) << side << compiled.err;
    const std::string entry = side == "--cuda-device-only" ? ".amdhsa_kernel gradient_sum" : "hipLaunchKernel";
    EXPECT_NE(read_file(folder_.file("code.s")).find(entry), std::string::npos) << side;
  }
}

/// The plans are those of the CPU, whose kernels it can run; the header is the one of HIP. Of that, only the brackets
/// of launches are no C++.
TEST_F(Bare, LaunchesWhatItsMemoryAndStepsSay) {
  if (run_program("clang++-22", {"--version"}).code != 0) GTEST_SKIP() << "clang++-22 is not installed (clang-22)";
  if (!runs_on_cpu()) GTEST_SKIP() << "nothing here reads functions of the user's own (libclang-22-dev)";
  const Target* const host = find_target("host");
  const std::regex brackets(R"((\w+)<<<(.+?), (\d+), 0, ([^>]+)>>>\()");
  Spec spec = read_spec(sources / "kernels.yaml");
  iris::attach_source_reader(spec);
  for (const OutputFile& file : irisgen::generate(spec, {&host, 1}, {.bare = true})) {
    write_file(folder_.path() / file.name, std::regex_replace(file.content, brackets, "fake_launch($1, $2, $3, $4, "));
  }
  const Outcome compiled = run_program(
      "clang++-22", {"-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I" + folder_.path().string(),
                     "-I" + sources.string(), (sources / "main.cpp").string(), "-o", folder_.file("launches")});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const Outcome run = run_program(folder_.file("launches"), {});
  EXPECT_EQ(run.code, 0) << run.out;
}

}  // namespace
}  // namespace irisgen::test::bare_test
