#include "iris/jit.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "iris/world.hpp"
#include "irisgen/spec.hpp"
#include "tests/runtime/compiler_samples.hpp"

namespace iris::jit_test {
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
class BuildOperation : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "irisgen-jit-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path folder;
};

class BuildOperationFor : public BuildOperation, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Targets, BuildOperationFor, testing::Values("host", "gfx90a", "gfx942", "gfx950", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

std::string why_not(const char* target) {
  try {
    (void)Compilers::instance().find(*irisgen::find_target(target));
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_P(BuildOperationFor, builds_a_plan_s_kernel_and_finds_it_again) {
  if (const std::string reason = why_not(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  Cache cache(folder);
  const irisgen::Plan plan = plan_for(GetParam());
  const BuiltOperation built = build_operation(plan, {}, cache);
  EXPECT_EQ(built.manifest.kernels.at(0).symbol, plan.kernels.at(0).symbol);
  EXPECT_EQ(built.manifest.target, GetParam());
  ASSERT_EQ(built.code.size(), 1u);
  const CodeObject& code = built.code[0];
  EXPECT_EQ(code.target, GetParam());
  EXPECT_FALSE(code.from_cache);
  ASSERT_GT(code.bytes.size(), 64u);
  if (plan.target->platform != irisgen::Platform::host) {
    EXPECT_EQ(code.resources.spill_bytes, 0);
    EXPECT_GT(code.resources.registers.value_or(0), 0);
  }

  const CodeObject again = build_operation(plan, {}, cache).code.at(0);
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.bytes, code.bytes);
  EXPECT_EQ(again.resources.registers, code.resources.registers);
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.list()[0].name, plan.kernels[0].stem + ".hip");
}

TEST_F(BuildOperation, keeps_compilers_apart) {
  IRISGEN_REQUIRE_COMPILER("clang", "gfx90a");
  IRISGEN_REQUIRE_COMPILER("hiprtc", "gfx90a");
  Cache cache(folder);
  const auto compiler = [&](const char* name) {
    return build_operation(plan_for("gfx90a"), name, cache).code.at(0).compiler;
  };
  EXPECT_EQ(compiler("clang").substr(0, 6), "clang ");
  EXPECT_EQ(compiler("hiprtc").substr(0, 7), "hiprtc ");
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

// --- jit(): from a description to a launch, in one call

constexpr const char* two_sums = R"(irisgen: 1
defaults: {pattern: all_reduce, dtype: f32, world: [2, 3]}
kernels:
  - {name: total, shape: {n: dynamic}}
  - {name: largest, op: max, shape: {n: 100}}
)";

/// What each rank throws in a world of so many ranks on the CPU.
std::vector<std::string> failures_of(int ranks, const std::function<void(Context&)>& body) {
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  World world({.size = ranks, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    try {
      body(context);
    } catch (const std::runtime_error& error) {
      failures[static_cast<std::size_t>(context.rank())] = error.what();
    }
  });
  return failures;
}

/// Launches an operation on 100 elements, element i of rank r being r · 1000 + i, and gives each rank's output.
std::vector<std::vector<float>> outputs_of(int ranks, const std::function<Operation(Context&)>& make) {
  std::vector<std::vector<float>> outputs(static_cast<std::size_t>(ranks), std::vector<float>(100));
  World world({.size = ranks, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    Operation operation = make(context);
    const std::size_t bytes = 100 * sizeof(float);
    void* input = context.allocate(bytes);
    void* output = context.allocate(bytes);
    std::vector<float>& mine = outputs[static_cast<std::size_t>(context.rank())];
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = static_cast<float>(context.rank() * 1000) + static_cast<float>(i);
    context.device().copy(input, mine.data(), bytes);
    context.barrier();
    Extents extents;
    for (const std::string& name : operation.manifest().problem.dynamic_extents()) extents.set(name, 100);
    operation.launch(std::array{input, output}, extents);
    context.synchronize();
    context.device().copy(mine.data(), output, bytes);
  });
  return outputs;
}

class Jit : public testing::Test {
 protected:
  void SetUp() override {
    if (samples::find_compiler("clang") == nullptr) GTEST_SKIP() << samples::why_missing("clang");
    if (!samples::compiles(*samples::find_compiler("clang"), "host")) GTEST_SKIP() << "clang does not do host";
  }
};

TEST_F(Jit, takes_a_description_to_a_launch) {
  for (const auto& output : outputs_of(
           3, [](Context& context) { return jit(context, two_sums, {.kernel = "total", .capacity = {{"n", 100}}}); })) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(output[static_cast<std::size_t>(i)], 3000 + 3 * i);
  }
}

TEST_F(Jit, takes_the_kernel_asked_for_and_the_world_at_hand) {
  for (const auto& output :
       outputs_of(2, [](Context& context) { return jit(context, two_sums, {.kernel = "largest"}); })) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(output[static_cast<std::size_t>(i)], 1000 + i);
  }
}

TEST_F(Jit, takes_a_description_written_in_cpp) {
  irisgen::KernelSpec kernel;
  kernel.name = "smallest";
  kernel.problem = {.pattern = "all_reduce", .op = Op::min, .extents = {{"n", {.value = 100}}}};
  for (const auto& output : outputs_of(3, [&](Context& context) { return jit(context, kernel); })) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(output[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(Jit, reads_a_file) {
  std::string pattern = (fs::temp_directory_path() / "irisgen-jit-XXXXXX").string();
  const fs::path folder = mkdtemp(pattern.data());
  std::ofstream(folder / "sums.yaml") << two_sums;
  const auto outputs = outputs_of(
      2, [&](Context& context) { return jit_file(context, (folder / "sums.yaml").string(), {.kernel = "largest"}); });
  EXPECT_EQ(outputs[0][1], 1001);
  const auto failures = failures_of(2, [&](Context& context) { jit_file(context, (folder / "none.yaml").string()); });
  for (const std::string& failure : failures) EXPECT_NE(failure.find("cannot read "), std::string::npos) << failure;
  fs::remove_all(folder);
}

TEST_F(Jit, tells_every_rank_what_is_wrong) {
  const auto expect = [](const std::function<void(Context&)>& body, const std::string& words) {
    for (const std::string& failure : failures_of(3, body))
      EXPECT_NE(failure.find(words), std::string::npos) << failure;
  };
  expect([](Context& context) { jit(context, "irisgen: 2\n"); }, "irisgen must be 1, not 2");
  expect([](Context& context) { jit(context, two_sums); }, "total, largest");
  expect([](Context& context) { jit(context, two_sums, {.kernel = "totl"}); }, "did you mean 'total'?");
  expect([](Context& context) { jit(context, two_sums, {.kernel = "total"}); },
         "n is dynamic, and capacity does not say how much launches will give at most");
  expect([](Context& context) { jit(context, two_sums, {.kernel = "largest", .compiler = "nvrtc"}); }, "nvrtc");
  expect(
      [](Context& context) {
        irisgen::KernelSpec kernel;
        kernel.name = "k";
        kernel.problem = {.pattern = "all_reduce", .root = 1, .extents = {{"n", {.value = 8}}}};
        jit(context, kernel);
      },
      "all_reduce takes no 'root'");
}

TEST_F(Jit, needs_a_build_for_the_world_at_hand) {
  for (const std::string& failure :
       failures_of(1, [](Context& context) { jit(context, two_sums, {.kernel = "largest"}); })) {
    EXPECT_NE(failure.find("1"), std::string::npos) << failure;
    EXPECT_NE(failure.find("2, 3"), std::string::npos) << failure;
  }
}

TEST_F(Jit, tells_ranks_that_ask_for_different_kernels) {
  const auto expect = [](const std::function<void(Context&)>& body, const std::string& words) {
    for (const std::string& failure : failures_of(2, body))
      EXPECT_NE(failure.find(words), std::string::npos) << failure;
  };
  expect([](Context& context) { jit(context, two_sums, {.kernel = context.rank() == 0 ? "total" : "largest"}); },
         "kernel 'largest')");
  expect([](Context& context) { jit(context, std::string(two_sums) + (context.rank() == 0 ? "" : "#")); },
         "rank 1: jit(a description with hash ");
  expect(
      [](Context& context) {
        irisgen::KernelSpec kernel;
        kernel.name = "one_name";
        kernel.problem = {.pattern = "all_reduce", .extents = {{"n", {.value = 8 + context.rank()}}}};
        jit(context, kernel);
      },
      "rank 1: jit(kernel 'one_name' with hash ");
}

/// An extent that is misspelt, left out, or another on one rank: all are told, and go on together.
TEST_F(Jit, tells_ranks_whose_capacities_differ_and_leaves_them_in_step) {
  const std::array<std::pair<Extents, const char*>, 3> others = {
      {{{{"q", 5}}, ", capacity q = 5)"}, {{}, "kernel 'total')"}, {{{"n", 1000}}, ", capacity n = 1000)"}}};
  for (const auto& [other, words] : others) {
    World world({.size = 3, .heap_bytes = 1 << 20});
    world.run([&](Context& context) {
      const Extents capacity = context.rank() == 1 ? other : Extents{{"n", 100}};
      std::string said;
      try {
        jit(context, two_sums, {.kernel = "total", .capacity = capacity});
      } catch (const std::runtime_error& error) {
        said = error.what();
      }
      EXPECT_NE(said.find("rank 1: jit(a description with hash "), std::string::npos) << said;
      EXPECT_NE(said.find(words), std::string::npos) << said;
      EXPECT_NE(said.find(", capacity n = 100)"), std::string::npos) << said;
      EXPECT_NO_THROW(context.barrier());
    });
  }
}

TEST_F(Jit, plans_by_a_tuning_table) {
  const std::vector<irisgen::TuningTable> tables = {
      {{{.problem = {.pattern = "all_reduce", .op = Op::sum, .world = 2, .extents = {{"m", {}}, {"n", {.value = 100}}}},
         .target = "host",
         .device = "CPU (fibers)",
         .variant = "ring",
         .config = {{"threads", {.value = 48}}}}}}};
  World world({.size = 2, .heap_bytes = 1 << 20});
  world.run([&](Context& context) {
    const Operation operation = jit(context, two_sums, {.kernel = "largest", .tuning = tables});
    EXPECT_EQ(operation.manifest().variant, "ring");
    EXPECT_EQ(operation.manifest().kernels.at(0).threads, 48);
  });
}

}  // namespace
}  // namespace iris::jit_test
