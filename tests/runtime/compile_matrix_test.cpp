// Every pattern, variant and shard through every compiler for GPUs: it compiles, spills nothing, and all blocks that
// wait for one another fit on the chip at once. Thinned so that every pair of choices occurs; in full with
// IRISGEN_TEST_ALL=1 (about half an hour).

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "iris/jit.hpp"
#include "samples.hpp"
#include "tests/runtime/compiler_samples.hpp"

namespace iris {
namespace {

using irisgen::KernelPlan;
using irisgen::Plan;
using irisgen::Platform;
using test::Algorithm;
using test::Sample;

constexpr std::array worlds = {1, 2, 3, 5, 8};

struct Route {
  const char* compiler;
  const char* target;  ///< empty: every one that the compiler lists
};
constexpr std::array routes = {Route{"clang", "gfx90a"}, Route{"clang", "gfx942"}, Route{"clang", "gfx950"},
                               Route{"hiprtc", ""}, Route{"nvrtc", "sm_90a"}};

struct Combination {
  Algorithm algorithm;
  Route route;
  std::size_t number;  ///< another for each combination, so that samples differ

  std::vector<Sample> samples() const {
    std::vector<Sample> all = test::test_all() ? every_sample() : some_samples();
    if (!test::is_matmul(algorithm)) return all;
    // What multiplies is the same in all templates: `tiled` has all of it, `split_k` half, each other algorithm a
    // sixth, another one on each route.
    if (test::multiplies_by_another(algorithm) && !test::test_all()) return all;
    const bool nvidia = std::string_view(route.compiler) == "nvrtc";
    const auto on_units = nvidia ? test::matrix_unit_samples(algorithm, 3) : test::wave_mma_samples(algorithm, 3);
    const std::size_t step = algorithm.variant == "tiled" || test::test_all() ? 1
                             : algorithm.variant == "split_k"                 ? 2
                                                                              : 6;
    for (std::size_t i = number % step; i < on_units.size(); i += step) all.push_back(on_units[i]);
    return all;
  }

  std::string name() const {
    return algorithm.name() + "_" + route.compiler + (*route.target == '\0' ? "" : "_" + std::string(route.target));
  }
  friend std::ostream& operator<<(std::ostream& out, const Combination& that) { return out << that.name(); }

 private:
  std::vector<Sample> every_sample() const {
    const std::vector<std::string> ops = test::ops_of(algorithm);
    const std::vector<std::string> layouts = test::layouts_of(algorithm);
    std::vector<Sample> all;
    for (const auto& [world, dtype, op, dynamic, layout] :
         test::rows_of<5>({worlds.size(), test::dtypes_of(algorithm).size(), ops.size(), 2, layouts.size()})) {
      all.push_back(sample(world, dtype, ops[op], dynamic == 1));
      all.back().layout = layouts[layout];
    }
    return all;
  }

  /// Three types on each route, of products two, Clang's three targets together; other ones for the next algorithm, and
  /// with each another world and op.
  std::vector<Sample> some_samples() const {
    const std::vector<std::string> ops = test::ops_of(algorithm);
    const bool is_clang = std::string_view(route.compiler) == "clang";
    const std::size_t types = is_clang ? 1 : test::is_matmul(algorithm) ? 2 : 3;
    std::vector<Sample> all;
    for (std::size_t i = 0; i < types; ++i) {
      const std::size_t dtype = (number + number / routes.size() + 2 * i) % test::dtypes_of(algorithm).size();
      const std::size_t world = (2 * dtype + number) % worlds.size();
      all.push_back(sample(world, dtype, ops[(dtype + number) % ops.size()], (i + number) % 2 == 0));
    }
    return all;
  }

  /// Nothing divides its extents, but for rows that are distributed to the ranks.
  Sample sample(std::size_t world, std::size_t dtype, const std::string& op, bool dynamic) const {
    Sample sample{
        .algorithm = algorithm, .world = worlds.at(world), .dtype = test::dtypes_of(algorithm).at(dtype), .op = op};
    const std::vector<std::string> layouts = test::layouts_of(algorithm);
    sample.layout = layouts[(world + dtype) % layouts.size()];
    const Extents extents = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, sample.world, 37, 29, 19)
                                                       : test::collective_extents(algorithm, sample.world, 5, 4099);
    sample.extents = dynamic ? test::known_extents(algorithm, extents) : extents;
    return sample;
  }
};

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const Algorithm& algorithm : test::every_algorithm()) {
    for (const Route& route : routes) all.push_back({algorithm, route, all.size()});
  }
  return all;
}

std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

/// What a compute unit has, and in which portions it is given to waves and blocks.
struct Unit {
  int registers;           ///< for all its threads, 32 bits each
  int register_alignment;  ///< in multiples of which a wave is given them
  int shared_bytes;        ///< for all its blocks
  int reserved_bytes;      ///< that each block takes besides its own
  int schedulers;          ///< among which waves and registers are divided
};
// CUDA C++ Programming Guide, compute capability 9.0. Registers of AMD's: 512 for each of a wave's 64 lanes on each of
// four SIMDs, in eights (AMDGPU backend guide); LDS as of gfx90a and gfx942, gfx950 has more.
constexpr Unit multiprocessor = {65536, 256, 228 << 10, 1 << 10, 1};
constexpr Unit compute_unit = {4 * 512 * 64, 8 * 64, 64 << 10, 0, 4};

/// Where blocks wait for one another, a compute unit has to hold its part of the grid at once.
void expect_resident(const irisgen::Target& target, const KernelPlan& kernel, const Resources& resources) {
  if (!kernel.waits) return;
  const Unit& unit = target.platform == Platform::nvidia ? multiprocessor : compute_unit;
  const std::int64_t threads = kernel.number("threads");
  const std::int64_t blocks = round_up(kernel.number("blocks"), target.compute_units) / target.compute_units;
  const std::int64_t waves = round_up(blocks * threads / target.wave, unit.schedulers);
  EXPECT_LE(waves * round_up(std::int64_t{*resources.registers} * target.wave, unit.register_alignment), unit.registers)
      << blocks << " blocks of " << threads << " threads of " << *resources.registers << " registers";
  EXPECT_LE(blocks * (*resources.shared_bytes + unit.reserved_bytes), unit.shared_bytes) << blocks << " blocks";
}

void expect_good(const Compiler& compiler, const Plan& plan) {
  const std::vector<CompileRequest> requests = make_requests(plan, emit_sources(plan));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(std::string(compiler.name()) + " " + std::string(plan.target->name) + " " + plan.kernels[i].symbol);
    try {
      const CodeObject code = compiler.compile(requests[i]);
      EXPECT_EQ(code.resources.spill_bytes, 0);
      ASSERT_TRUE(code.resources.registers && code.resources.shared_bytes);
      expect_resident(*plan.target, plan.kernels[i], code.resources);
    } catch (const CompileError& error) {
      ADD_FAILURE() << error.what();
    }
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

INSTANTIATE_TEST_SUITE_P(All, CompileMatrix, testing::ValuesIn(combinations()),
                         [](const auto& info) { return info.param.name(); });

/// The patterns that multiply, each by kernels of its own.
std::vector<Algorithm> own_products() {
  std::vector<Algorithm> all = test::every_algorithm();
  std::erase_if(all, [](const Algorithm& algorithm) {
    return !test::is_matmul(algorithm) || (test::multiplies_by_another(algorithm) && !test::test_all());
  });
  return all;
}

/// Of the largest default grid the widest sums and the most of them: what needs the most registers.
TEST(CompileLargestGrid, IsResidentWithSumsInF64AndF32) {
  IRISGEN_REQUIRE_COMPILER("nvrtc", "sm_90a");
  const Compiler& nvrtc = *samples::find_compiler("nvrtc");
  for (const Algorithm& algorithm : own_products()) {
    for (const char* dtype : {"f64", "f32"}) {
      const Extents known = test::known_extents(algorithm, test::matmul_extents(algorithm, 8, 1024, 1024, 1024));
      expect_good(nvrtc,
                  test::plan_of({.algorithm = algorithm, .world = 8, .dtype = dtype, .extents = known}, "sm_90a"));
    }
  }
}

/// The widest tiles, whose sums take most of what registers there are, beside the work of each pattern, of two ranks.
TEST(CompileLargestTiles, SpillNothing) {
  IRISGEN_REQUIRE_COMPILER("nvrtc", "sm_90a");
  const Compiler& nvrtc = *samples::find_compiler("nvrtc");
  for (const Algorithm& algorithm : own_products()) {
    if (algorithm.variant == "split_k") continue;
    for (const char* layout : {"kn", "nk"}) {
      expect_good(nvrtc, test::plan_of({.algorithm = algorithm,
                                        .world = 2,
                                        .dtype = "bf16",
                                        .layout = layout,
                                        .extents = test::matmul_extents(algorithm, 2, 1024, 8192, 1024),
                                        .config = "tile_n: 256"},
                                       "sm_90a"));
    }
  }
}

}  // namespace
}  // namespace iris
