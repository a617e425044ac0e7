// Every pattern and variant through every compiler for GPUs: it compiles, spills nothing, and all blocks of its grid
// fit on the chip at once. A sample in which each element type, op and world occurs for each pattern, compiler and
// target; all of the matrix if IRISGEN_COMPILE_ALL is set.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "iris/jit.hpp"
#include "kernel_samples.hpp"
#include "tests/runtime/compiler_samples.hpp"

namespace iris {
namespace {

using irisgen::Extents;
using irisgen::Pattern;
using irisgen::Plan;
using irisgen::Platform;
using test::is_fused;
using test::Sample;

constexpr std::array dtypes = {"f64", "f32", "f16", "bf16", "i32"};
constexpr std::array worlds = {1, 2, 3, 5, 8};

struct Route {
  const char* compiler;
  const char* target;  ///< empty: every one that the compiler lists
};
constexpr std::array routes = {Route{"clang", "gfx90a"}, Route{"clang", "gfx942"}, Route{"clang", "gfx950"},
                               Route{"hiprtc", ""}, Route{"nvrtc", "sm_90a"}};

std::vector<std::string> ops_of(const Pattern& pattern) {
  if (!pattern.reduces || is_fused(pattern)) return {"sum"};
  return {"sum", "max", "min", "prod"};
}

/// Nothing divides it, but for the rows that a fused pattern deals to its ranks.
Extents awkward_shape(const Pattern& pattern, int world) {
  return is_fused(pattern) ? Extents{std::int64_t{37} * world, 29, 19} : Extents{5, 4099, 1};
}

struct Combination {
  const Pattern* pattern;
  std::string variant;
  Route route;
  std::size_t turn;  ///< another for each combination, so that samples differ

  Sample sample(int world, const char* dtype, const std::string& op, bool dynamic) const {
    Sample sample{.pattern = pattern, .variant = variant, .world = world, .dtype = dtype, .op = op};
    if (!dynamic) sample.shape = awkward_shape(*pattern, world);
    return sample;
  }

  std::vector<Sample> everything() const {
    std::vector<Sample> all;
    for (const int world : worlds) {
      for (const char* dtype : dtypes) {
        for (const std::string& op : ops_of(*pattern)) {
          for (const bool dynamic : {false, true}) all.push_back(sample(world, dtype, op, dynamic));
        }
      }
    }
    return all;
  }

  /// Each element type, op and world at least once, and both kinds of extents.
  std::vector<Sample> thinned() const {
    const std::vector<std::string> ops = ops_of(*pattern);
    std::vector<Sample> some;
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
      const int world = worlds[(2 * i + turn) % worlds.size()];
      some.push_back(sample(world, dtypes[i], ops[(i + turn) % ops.size()], (i + turn) % 2 == 0));
    }
    return some;
  }

  std::vector<Sample> samples() const {
    const char* all = std::getenv("IRISGEN_COMPILE_ALL");
    return all != nullptr && std::string(all) != "0" ? everything() : thinned();
  }
};

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const Pattern* pattern : irisgen::patterns()) {
    for (const irisgen::Variant& variant : pattern->variants) {
      for (const Route& route : routes) all.push_back({pattern, std::string(variant.name), route, all.size()});
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Combination>& info) {
  std::string name = std::string(info.param.pattern->name) + "_" + info.param.variant + "_" + info.param.route.compiler;
  if (*info.param.route.target != '\0') name += std::string("_") + info.param.route.target;
  return name;
}

int round_up(int value, int to) {
  return (value + to - 1) / to * to;
}

/// What a compute unit has, and in which portions it is given to waves and blocks.
struct Unit {
  int registers;       ///< for all its threads, 32 bits each
  int wave_granule;    ///< in which a wave is given registers
  int shared_bytes;    ///< for all its blocks
  int reserved_bytes;  ///< that each block takes besides its own
  int schedulers;      ///< among which waves and registers are divided
};
// CUDA C++ Programming Guide, compute capability 9.0. Registers of AMD's: 512 for each of a wave's 64 lanes on each of
// four SIMDs, in eights (AMDGPU backend guide); LDS as of gfx90a and gfx942, gfx950 has more.
constexpr Unit multiprocessor = {65536, 256, 228 << 10, 1 << 10, 1};
constexpr Unit compute_unit = {4 * 512 * 64, 8 * 64, 64 << 10, 0, 4};

/// The blocks wait for one another, so a compute unit has to hold its share of the grid at once.
void expect_resident(const Plan& plan, const Resources& resources) {
  const irisgen::Target& target = *plan.target;
  const Unit& unit = target.platform == Platform::nvidia ? multiprocessor : compute_unit;
  const int blocks = round_up(plan.blocks, target.compute_units) / target.compute_units;
  const int waves = round_up(blocks * plan.threads / target.wave, unit.schedulers);
  EXPECT_LE(waves * round_up(*resources.registers * target.wave, unit.wave_granule), unit.registers)
      << blocks << " blocks of " << plan.threads << " threads of " << *resources.registers << " registers";
  EXPECT_LE(blocks * (*resources.shared_bytes + unit.reserved_bytes), unit.shared_bytes) << blocks << " blocks";
}

void expect_good(const Compiler& compiler, const Plan& plan) {
  SCOPED_TRACE(std::string(compiler.name()) + " " + std::string(plan.target->name) + " " + plan.symbol);
  try {
    const CodeObject code = compiler.compile(make_request(plan));
    EXPECT_EQ(code.resources.spill_bytes, 0);
    ASSERT_TRUE(code.resources.registers && code.resources.shared_bytes);
    expect_resident(plan, code.resources);
  } catch (const CompileError& error) {
    ADD_FAILURE() << error.what();
  }
}

class CompileMatrix : public testing::TestWithParam<Combination> {
 protected:
  void SetUp() override {
    const auto& [compiler, target] = GetParam().route;
    compiler_ = samples::find_compiler(compiler);
    if (compiler_ == nullptr) GTEST_SKIP() << samples::why_missing(compiler);
    if (*target != '\0') {
      IRISGEN_REQUIRE_COMPILER(compiler, target);
      targets_ = {target};
    } else {
      targets_ = compiler_->targets();
    }
  }

  const Compiler* compiler_ = nullptr;
  std::vector<std::string> targets_;
};

TEST_P(CompileMatrix, SpillsNothingAndIsResident) {
  ASSERT_FALSE(targets_.empty());
  for (const std::string& target : targets_) {
    for (const Sample& sample : GetParam().samples()) expect_good(*compiler_, test::plan_of(sample, target));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompileMatrix, testing::ValuesIn(combinations()), name_of);

/// The widest sums of the largest default grid: what needs the most registers.
TEST(CompileLargestGrid, IsResidentWithSumsInF64) {
  IRISGEN_REQUIRE_COMPILER("nvrtc", "sm_90a");
  const Compiler& nvrtc = *samples::find_compiler("nvrtc");
  for (const Pattern* pattern : irisgen::patterns()) {
    if (!is_fused(*pattern)) continue;
    expect_good(nvrtc, test::plan_of({.pattern = pattern, .world = 8, .dtype = "f64"}, "sm_90a"));
  }
}

}  // namespace
}  // namespace iris
