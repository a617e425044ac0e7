#include "iris/jit.hpp"

#include <cstdlib>
#include <filesystem>

#include "irisgen/spec.hpp"
#include "tests/runtime/compiler_samples.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

irisgen::Plan plan_for(const char* target) {
  const irisgen::Spec spec = irisgen::parse_spec("sum.yaml",
                                                 "irisgen: 1\n"
                                                 "kernels:\n"
                                                 "  - name: sum\n"
                                                 "    pattern: all_reduce\n"
                                                 "    dtype: f32\n"
                                                 "    world: 3\n"
                                                 "    shape: {n: 1001}\n");
  return irisgen::make_plan(spec.kernels.at(0), 3, *irisgen::find_target(target));
}

/// A cache of its own for each test.
class BuildKernel : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "irisgen-jit-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path folder;
};

class BuildKernelFor : public BuildKernel, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Targets, BuildKernelFor, testing::Values("host", "gfx90a", "gfx942", "gfx950", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

std::string why_not(const char* target) {
  try {
    (void)Compilers::instance().find(*irisgen::find_target(target));
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_P(BuildKernelFor, builds_a_plan_s_kernel_and_finds_it_again) {
  if (const std::string reason = why_not(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  Cache cache(folder);
  const irisgen::Plan plan = plan_for(GetParam());
  const BuiltKernel built = build_kernel(plan, {}, cache);
  EXPECT_EQ(built.manifest.symbol, plan.symbol);
  EXPECT_EQ(built.manifest.target, GetParam());
  EXPECT_EQ(built.code.target, GetParam());
  EXPECT_FALSE(built.code.from_cache);
  ASSERT_GT(built.code.bytes.size(), 64u);
  if (plan.target->platform != irisgen::Platform::host) {
    EXPECT_EQ(built.code.resources.spill_bytes, 0);
    EXPECT_GT(built.code.resources.registers.value_or(0), 0);
  }

  const BuiltKernel again = build_kernel(plan, {}, cache);
  EXPECT_TRUE(again.code.from_cache);
  EXPECT_EQ(again.code.bytes, built.code.bytes);
  EXPECT_EQ(again.code.resources.registers, built.code.resources.registers);
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.list()[0].name, plan.stem + ".hip");
}

TEST_F(BuildKernel, keeps_compilers_apart) {
  IRISGEN_REQUIRE_COMPILER("clang", "gfx90a");
  IRISGEN_REQUIRE_COMPILER("hiprtc", "gfx90a");
  Cache cache(folder);
  EXPECT_EQ(build_kernel(plan_for("gfx90a"), "clang", cache).code.compiler.substr(0, 6), "clang ");
  EXPECT_EQ(build_kernel(plan_for("gfx90a"), "hiprtc", cache).code.compiler.substr(0, 7), "hiprtc ");
  EXPECT_EQ(cache.list().size(), 2u);
}

TEST(Build, shows_the_place_of_an_error_in_the_source) {
  IRISGEN_REQUIRE_COMPILER("clang", "host");
  Cache cache({});
  const CompileRequest request = samples::request(*irisgen::find_target("host"), "int a;\nint b = c;\n");
  try {
    (void)build(request, *samples::find_compiler("clang"), cache);
    FAIL() << "it compiled";
  } catch (const CompileError& error) {
    EXPECT_NE(std::string(error.what()).find("sample.hip:2:9: error: "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace iris
