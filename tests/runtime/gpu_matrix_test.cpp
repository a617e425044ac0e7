// Every pattern and variant on this machine's GPUs, thinned: each world and element type, the ops dealt over them,
// sizes that are no multiple of anything. Ranks may be more than GPUs. Skipped where there is no GPU.

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "iris/device.hpp"
#include "iris/jit.hpp"
#include "iris/kernel.hpp"
#include "iris/run.hpp"
#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/spec.hpp"
#include "runtime/launch/launch_check.hpp"

namespace iris {
namespace {

using irisgen::Extents;
using irisgen::Pattern;
using irisgen::Target;

constexpr std::array dtypes = {"f32", "f64", "f16", "bf16", "i32"};
constexpr std::array ops = {"sum", "max", "min", "prod"};

/// The target of this machine's GPUs; nullptr if there are none that irisgen knows.
const Target* gpu_target() {
  const DeviceSurvey survey = survey_gpus();
  return survey.gpus.empty() ? nullptr : irisgen::find_target(survey.gpus.front().target);
}

bool is_fused(const Pattern& pattern) {
  return pattern.extents.find('k') != pattern.extents.npos;
}

/// One kernel of the language, as a user would write it.
struct Case {
  const Pattern* pattern = nullptr;
  std::string variant;
  int world = 1;
  std::string dtype = "f32";
  std::string op = "sum";
  Extents extents;
  bool dynamic = false;  ///< extents are arguments of the launch
  std::string config;    ///< "blocks: 3, threads: 128", or empty

  std::string text() const {
    const auto extent = [&](std::int64_t value) { return dynamic ? "dynamic" : std::to_string(value); };
    std::ostringstream text;
    text << "irisgen: 1\nkernels:\n  - name: k\n    pattern: " << pattern->name << "\n    variant: " << variant
         << "\n    dtype: " << dtype << "\n    world: " << world;
    if (pattern->reduces && !is_fused(*pattern)) text << "\n    op: " << op;
    if (pattern->rooted) text << "\n    root: " << world / 2;
    text << "\n    shape: {m: " << extent(extents.m) << ", n: " << extent(extents.n);
    if (is_fused(*pattern)) text << ", k: " << extent(extents.k);
    text << "}\n";
    if (!config.empty()) text << "    config: {" << config << "}\n";
    return text.str();
  }
};

BuiltKernel build(const Case& wanted) {
  const irisgen::Spec spec = irisgen::parse_spec("case.yaml", wanted.text());
  return build_kernel(irisgen::make_plan(spec.kernels.front(), wanted.world, *gpu_target()));
}

/// Launches three times with data that differs from launch to launch, and checks every element of each.
void expect_right(const BuiltKernel& built, const Extents& extents) {
  RunOptions options;
  options.seed = 7;
  options.repeat = 3;
  if (built.manifest.m.dynamic) options.extents.m = extents.m;
  if (built.manifest.n.dynamic) options.extents.n = extents.n;
  if (built.manifest.k.dynamic) options.extents.k = extents.k;
  const RunReport report = run_kernel(built, options);
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed) << report.wrong << " of " << report.elements << " elements are wrong; the worst on rank "
                             << report.worst.rank << " at " << report.worst.element.index << ": "
                             << report.worst.element.actual << " for " << report.worst.element.expected;
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
}

/// Sizes that no vector width, block or world divides; and the degenerate ones.
std::vector<Extents> awkward_extents(const Pattern& pattern, int world) {
  if (!is_fused(pattern)) return {{1, 4099, 1}, {3, 77, 1}, {1, 1, 1}, {1, 0, 1}};
  const std::int64_t ranks = world;  // m is a multiple of the world by definition
  return {{ranks * 37, 45, 53}, {ranks * 64, 130, 64}, {ranks, 1, 1}};
}

struct Combination {
  const Pattern* pattern;
  std::string variant;
  int world;

  std::string name() const { return std::string(pattern->name) + "_" + variant + "_world" + std::to_string(world); }
  friend std::ostream& operator<<(std::ostream& out, const Combination& that) { return out << that.name(); }
};

std::vector<Combination> combinations(const std::vector<int>& worlds) {
  std::vector<Combination> all;
  for (const Pattern* pattern : irisgen::patterns()) {
    for (const irisgen::Variant& variant : pattern->variants) {
      for (const int world : worlds) all.push_back({pattern, std::string(variant.name), world});
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Combination>& info) {
  return info.param.name();
}

class GpuMatrix : public testing::TestWithParam<Combination> {
 protected:
  void SetUp() override {
    if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  }
};

/// Few blocks, so that all ranks of one GPU are resident together; more than one, so that blocks must agree.
std::string small_grid(const Pattern& pattern) {
  return is_fused(pattern) ? "blocks: 6, comm_blocks: 2" : "blocks: 6, threads: 128";
}

TEST_P(GpuMatrix, EveryElementIsRightForDynamicExtents) {
  const auto& [pattern, variant, world] = GetParam();
  std::size_t turn = static_cast<std::size_t>(world);
  for (const char* dtype : dtypes) {
    const Case wanted{pattern, variant, world, dtype, ops.at(turn++ % ops.size()), {}, true, small_grid(*pattern)};
    SCOPED_TRACE(wanted.text());
    const BuiltKernel built = build(wanted);
    for (const Extents& extents : awkward_extents(*pattern, world)) {
      SCOPED_TRACE(testing::Message() << "m " << extents.m << ", n " << extents.n << ", k " << extents.k);
      expect_right(built, extents);
    }
  }
}

TEST_P(GpuMatrix, EveryElementIsRightForStaticExtents) {
  const auto& [pattern, variant, world] = GetParam();
  std::size_t turn = static_cast<std::size_t>(world);
  for (const Extents& extents : awkward_extents(*pattern, world)) {
    const Case wanted{pattern,
                      variant,
                      world,
                      dtypes.at(turn % dtypes.size()),
                      ops.at(turn % ops.size()),
                      extents,
                      false,
                      small_grid(*pattern)};
    ++turn;
    SCOPED_TRACE(wanted.text());
    expect_right(build(wanted), extents);
  }
}

/// The Plan's own choice of blocks and threads. It supposes a GPU for each rank.
TEST_P(GpuMatrix, PlansOwnConfigIsRight) {
  const auto& [pattern, variant, world] = GetParam();
  if (static_cast<std::size_t>(world) > survey_gpus().gpus.size()) GTEST_SKIP() << "needs " << world << " GPUs";
  const Extents extents = is_fused(*pattern) ? Extents{std::int64_t{96} * world, 200, 136} : Extents{1, 85002, 1};
  for (const char* dtype : {"f32", "bf16"}) {
    const Case wanted{pattern, variant, world, dtype, "sum", extents, false, ""};
    SCOPED_TRACE(wanted.text());
    expect_right(build(wanted), extents);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuMatrix, testing::ValuesIn(combinations({1, 2, 3, 4, 5, 8})), name_of);

using GpuBrokenPeer = GpuMatrix;

void launch_on_all_but(int missing, Context& context, const BuiltKernel& built, const Extents& extents) {
  std::vector<void*> buffers;
  buffers.reserve(built.manifest.arguments.size());
  for (const irisgen::Argument& argument : built.manifest.arguments) {
    buffers.push_back(context.allocate(static_cast<std::size_t>(bytes_of(argument, extents))));
  }
  Kernel kernel(context, built);
  if (context.rank() != missing) kernel.launch(buffers);
  context.synchronize();
  context.barrier();
}

TEST_P(GpuBrokenPeer, RankThatNeverLaunchesIsNamedAndNobodyHangs) {
  const auto& [pattern, variant, world] = GetParam();
  const Extents extents = is_fused(*pattern) ? Extents{192, 64, 64} : Extents{1, 4096, 1};
  const std::string config = small_grid(*pattern) + ", timeout_ms: 200";
  const BuiltKernel built = build({pattern, variant, world, "f32", "sum", extents, false, config});
  constexpr int missing = 2;
  World ranks({.size = world, .target = built.manifest.target, .heap_bytes = 16U << 20U, .seed = 0});
  std::string sentence;
  try {
    ranks.run([&](Context& context) { launch_on_all_but(missing, context, built, extents); });
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  EXPECT_NE(sentence.find("waited"), std::string::npos) << "the wait must run out; instead: '" << sentence << "'";
  EXPECT_NE(sentence.find("for rank"), std::string::npos) << sentence;
}

INSTANTIATE_TEST_SUITE_P(All, GpuBrokenPeer, testing::ValuesIn(combinations({3})), name_of);

/// All sums run in rank order, so the variants agree in every bit.
TEST(GpuAllReduce, VariantsAgreeBitwise) {
  if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  const Pattern* const pattern = irisgen::find_pattern("all_reduce");
  RunOptions options;
  options.verify = false;
  for (const int world : {2, 3, 8}) {
    for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
      Case wanted{pattern, "one_shot", world, dtype, "sum", {1, 10007, 1}, false, small_grid(*pattern)};
      const BuffersOfRanks one_shot = run_kernel(build(wanted), options).outputs;
      for (const char* variant : {"two_shot", "ring"}) {
        wanted.variant = variant;
        EXPECT_EQ(run_kernel(build(wanted), options).outputs, one_shot) << wanted.text();
      }
    }
  }
}

}  // namespace
}  // namespace iris
