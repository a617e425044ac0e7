// Every pattern, variant and shard on this machine's GPUs, thinned so that every pair of choices occurs; in full with
// IRISGEN_TEST_ALL=1. Ranks may be more than GPUs. Skipped where there is no GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"

namespace iris {
namespace {

using test::Algorithm;
using test::expect_right;
using test::expect_right_in_place;
using test::Sample;

/// The target of this machine's GPUs; nullptr if there are none that irisgen knows.
const irisgen::Target* gpu_target() {
  const DeviceSurvey survey = survey_gpus();
  return survey.gpus.empty() ? nullptr : irisgen::find_target(survey.gpus.front().target);
}

BuiltOperation build_for_gpu(const Sample& sample) {
  return build_operation(test::plan_of(sample, gpu_target()->name));
}

class GpuMatrix : public testing::TestWithParam<Algorithm> {
 protected:
  void SetUp() override {
    if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  }

  Sample small(int world, const std::string& dtype) const {
    return {.algorithm = GetParam(), .world = world, .dtype = dtype, .config = test::small_grid(GetParam(), 128)};
  }
};

TEST_P(GpuMatrix, EveryElementIsRight) {
  const Algorithm& algorithm = GetParam();
  const std::vector<int> worlds = {1, 2, 3, 4, 5, 8};
  const std::vector<std::string> ops = test::ops_of(algorithm);
  const std::vector<std::string> layouts = test::layouts_of(algorithm);
  const std::size_t sizes = test::awkward_extents(algorithm, 1).size();
  for (const auto& [world, size, dtype, op, layout] :
       test::rows_of<5>({worlds.size(), sizes + 1, test::dtypes_of(algorithm).size(), ops.size(), layouts.size()})) {
    Sample sample = small(worlds[world], test::dtypes_of(algorithm).at(dtype));
    sample.op = ops[op];
    sample.layout = layouts[layout];
    const std::vector<Extents> extents = test::awkward_extents(algorithm, sample.world);
    for (std::size_t each = 0; each < sizes; ++each) {
      if (size != sizes && size != each) continue;
      sample.extents = size == sizes ? test::known_extents(algorithm, extents[each]) : extents[each];
      SCOPED_TRACE(sample.text());
      const BuiltOperation built = build_for_gpu(sample);
      expect_right(built, extents[each]);
      expect_right_in_place(built, extents[each]);
    }
  }
}

/// Nothing, less than a cache line, whole ones, and more, in one operation.
TEST_P(GpuMatrix, RowsOfEachLaunchArePadded) {
  const Algorithm& algorithm = GetParam();
  if (algorithm.variant != "padded") GTEST_SKIP() << "copies no rows";
  for (const auto* dtype : {"bf16", "e4m3", "tf32", "f64"}) {
    for (const std::string& layout : test::layouts_of(algorithm)) {
      const Sample sample{.algorithm = algorithm, .world = 1, .dtype = dtype, .layout = layout};
      SCOPED_TRACE(sample.text());
      const BuiltOperation built = build_for_gpu(sample);
      for (const std::int64_t k : {0, 1, 64, 65, 128, 300}) expect_right(built, {{"m", 137}, {"n", 301}, {"k", k}});
    }
  }
}

TEST_P(GpuMatrix, MatrixUnitsAreRight) {
  const Algorithm& algorithm = GetParam();
  if (!test::is_matmul(algorithm)) GTEST_SKIP() << "multiplies nothing";
  for (const int world : {1, 2, 3}) {
    for (const Sample& sample : test::matrix_unit_samples(algorithm, world)) {
      SCOPED_TRACE(sample.text());
      expect_right(build_for_gpu(sample), sample.extents);
    }
  }
}

/// The Plan's own choice of blocks and threads. It supposes a GPU for each rank.
TEST_P(GpuMatrix, PlansOwnConfigIsRight) {
  const Algorithm& algorithm = GetParam();
  const auto gpus = static_cast<int>(survey_gpus().gpus.size());
  for (int world = 1; world <= gpus; ++world) {
    Extents extents = test::collective_extents(algorithm, world, 1, 85002);
    if (test::is_matmul(algorithm)) extents = test::matmul_extents(algorithm, world, 96, 200, 136);
    for (const std::string& dtype : {std::string("f32"), test::dtype_of(algorithm, {"bf16", "i32"})}) {
      const Sample sample{.algorithm = algorithm, .world = world, .dtype = dtype, .extents = extents};
      SCOPED_TRACE(sample.text());
      const BuiltOperation built = build_for_gpu(sample);
      expect_right(built, extents);
      expect_right_in_place(built, extents);
    }
  }
}

void launch_on_all_but(int missing, Context& context, const BuiltOperation& built, const Extents& extents) {
  std::vector<void*> buffers;
  buffers.reserve(built.manifest.arguments.size());
  for (const Argument& argument : built.manifest.arguments) {
    buffers.push_back(context.allocate(static_cast<std::size_t>(bytes_of(argument, extents))));
  }
  Operation operation(context, built);
  if (context.rank() != missing) operation.launch(buffers);
  context.synchronize();
  context.barrier();
}

/// Whether those that multiply are warpgroups, to whom tensor copies bring the operands.
bool takes_tensor_copies(const Sample& sample) {
  const irisgen::Plan plan = test::plan_of(sample, gpu_target()->name);
  return std::ranges::any_of(plan.kernels, [](const irisgen::KernelPlan& kernel) { return !kernel.maps.empty(); });
}

void expect_missing_rank_is_named(Sample sample) {
  sample.config += std::string(sample.config.empty() ? "" : ", ") + "timeout_ms: 200";
  const BuiltOperation built = build_for_gpu(sample);
  const Extents& extents = sample.extents;
  constexpr int missing = 2;
  World ranks({.size = 3, .target = built.manifest.target, .heap_bytes = 16U << 20U, .seed = 0});
  std::string sentence;
  try {
    ranks.run([&](Context& context) { launch_on_all_but(missing, context, built, extents); });
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  EXPECT_NE(sentence.find("waited"), std::string::npos) << "the wait must run out; instead: '" << sentence << "'";
  for (const char* part : {": rank ", " for rank ", "; expected ", ", saw "}) {
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
}

TEST_P(GpuMatrix, RankThatNeverLaunchesIsNamedAndNobodyHangs) {
  const Algorithm& algorithm = GetParam();
  if (algorithm.pattern == "matmul") GTEST_SKIP() << "its ranks do not wait for one another";
  Sample sample = small(3, "f32");
  sample.extents = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, 3, 64, 64, 64)
                                              : test::collective_extents(algorithm, 3, 1, 4096);
  expect_missing_rank_is_named(sample);
  if (!test::is_matmul(algorithm)) {  // of a warp some threads wait, and some have nothing to do
    sample.extents = test::collective_extents(algorithm, 3, 1, 99);
    expect_missing_rank_is_named(sample);
  }
  if (!test::is_matmul(algorithm)) return;
  for (const bool tensor_copies : {true, false}) {
    for (const Sample& by_units : test::matrix_unit_samples(algorithm, 3)) {
      if (takes_tensor_copies(by_units) != tensor_copies) continue;
      expect_missing_rank_is_named(by_units);
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuMatrix, testing::ValuesIn(test::every_algorithm()),
                         [](const auto& info) { return info.param.name(); });

TEST(GpuBySize, EverySizeIsRight) {
  if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  const auto gpus = static_cast<int>(survey_gpus().gpus.size());
  const Sample sample{.algorithm = {"all_reduce", "auto"}, .world = gpus, .dtype = "bf16"};
  const BuiltOperation built = build_for_gpu(sample);
  std::vector<std::int64_t> sizes = {0, 1, 1 << 20};
  for (const Schedule& schedule : built.manifest.schedules) {
    if (schedule.up_to != every_size) sizes.insert(sizes.end(), {schedule.up_to, schedule.up_to + 1});
  }
  for (const std::int64_t n : sizes) expect_right(built, {{"m", 1}, {"n", n}});
}

/// Of fused products every variant serves some lengths, by kernels of its own or by some that several share.
TEST(GpuBySize, EveryNumberOfRowsIsRight) {
  if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  const auto gpus = static_cast<int>(survey_gpus().gpus.size());
  for (const char* pattern : {"matmul_all_reduce", "matmul_reduce_scatter", "all_gather_matmul", "matmul_all_gather"}) {
    const Sample sample{.algorithm = {pattern, "auto"},
                        .world = gpus,
                        .dtype = "bf16",
                        .layout = "nk",
                        .extents = {{"n", 256}, {"k", 192}}};
    SCOPED_TRACE(sample.text());
    const irisgen::Problem any = test::plan_of(sample, gpu_target()->name).problem;
    irisgen::TuningTable table;
    std::int64_t rows_of_entry = gpus;
    for (const irisgen::Variant& variant : irisgen::find_pattern(pattern)->variants) {
      table.entries.push_back(test::tuning_entry(any, {{"m", rows_of_entry}}, gpu_target()->name, variant.name));
      rows_of_entry *= 4;
    }
    const irisgen::Plan plan = test::plan_of(sample, gpu_target()->name, {.tuning = {&table, 1}});
    EXPECT_EQ(plan.variant, "by_size");
    const BuiltOperation built = build_operation(plan);
    const std::int64_t most = 3 * rows_of_entry;
    std::set<std::int64_t> all_rows = {0, gpus, most};
    for (const Schedule& schedule : built.manifest.schedules) {
      for (const Bound& bound : schedule.bounds) {
        if (bound.up_to <= most) all_rows.insert({bound.up_to / 2 / gpus * gpus, bound.up_to, bound.up_to + gpus});
      }
    }
    for (const std::int64_t rows : all_rows) expect_right(built, {{"m", rows}});
  }
}

/// Products of lengths from 1 to 8192, primes among them, and of so many numbers that the reference takes a fraction of
/// a second.
class GpuMatmul : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  }

  template <std::size_t size>
  std::int64_t pick(const std::array<std::int64_t, size>& from) {
    return from.at(random_() % size);
  }

  /// The next one that is not too long.
  template <std::size_t size>
  Sample next(const std::string& dtype, const std::string& layout, const std::array<std::int64_t, size>& depths) {
    for (;;) {
      const Extents extents = {{"m", pick(lengths_)}, {"n", pick(lengths_)}, {"k", pick(depths)}};
      if (extents.at("m") * extents.at("n") * extents.at("k") > most_products_) continue;
      return {.algorithm = {"matmul", "tiled"}, .dtype = dtype, .layout = layout, .extents = extents};
    }
  }

  static void expect_product(const Sample& sample) {
    SCOPED_TRACE(sample.text());
    expect_right(build_for_gpu(sample), sample.extents);
  }

 private:
  static constexpr std::array<std::int64_t, 16> lengths_ = {1,   2,   7,   16,   64,   127,  128,  129,
                                                            251, 509, 640, 1021, 2039, 4093, 8191, 8192};
  static constexpr std::int64_t most_products_ = 300'000'000;
  std::mt19937_64 random_{40};
};

TEST_F(GpuMatmul, FortyShapesAreRight) {
  constexpr std::array<std::int64_t, 9> depths = {16, 48, 64, 144, 1008, 2048, 4096, 8176, 8192};
  constexpr std::array dtypes = {"bf16", "f16", "e4m3", "tf32"};
  for (std::size_t number = 0; number < 40; ++number) {
    const bool nk = number % dtypes.size() >= 2 || number / dtypes.size() % 2 == 0;  // all that e4m3 and tf32 take
    Sample sample = next(dtypes.at(number % dtypes.size()), nk ? "nk" : "kn", depths);
    if (!nk) sample.extents.set("n", (sample.extents.at("n") + 7) / 8 * 8);  // tensor copies want whole 16 bytes
    EXPECT_TRUE(takes_tensor_copies(sample) || gpu_target()->name != "sm_90a") << sample.text();
    expect_product(sample);
  }
}

/// What tensor copies cannot bring, or what has nothing to sum, in all types.
TEST_F(GpuMatmul, FortyShapesOfAnyDepthAreRight) {
  constexpr std::array<std::int64_t, 9> depths = {0, 1, 2, 61, 131, 1021, 2039, 4099, 8191};
  constexpr std::array dtypes = {"bf16", "f16", "e4m3", "tf32", "f32", "f64"};
  for (std::size_t number = 0; number < 40; ++number) {
    Sample sample = next(dtypes.at(number % dtypes.size()), number % 4 < 2 ? "nk" : "kn", depths);
    const bool pads = sample.dtype != "f32" && sample.extents.at("k") > 0;
    if (pads && number / dtypes.size() % 2 == 0) sample.algorithm.variant = "padded";
    expect_product(sample);
  }
}

/// Sums run in rank order, or are exact, so the variants agree in every bit.
TEST(GpuAllReduce, VariantsAgreeBitwise) {
  if (!gpu_target()) GTEST_SKIP() << "needs a GPU that irisgen knows: " << survey_gpus().missing;
  RunOptions options;
  options.verify = false;
  for (const int world : {2, 3, 8}) {
    for (const char* dtype : {"f32", "f16", "bf16", "f64", "i32"}) {
      Sample sample{.algorithm = {"all_reduce", "one_shot"},
                    .world = world,
                    .dtype = dtype,
                    .extents = {{"m", 1}, {"n", 10007}},
                    .config = "blocks: 3, threads: 128"};
      const BuffersOfRanks one_shot = run_operation(build_for_gpu(sample), options).outputs.front().content;
      for (const char* variant :
           {"low_latency", "low_latency_two_shot", "two_shot", "workgroup_specialized", "ring", "atomic", "spinlock"}) {
        sample.algorithm.variant = variant;
        if (!test::row_of(sample.algorithm)->deterministic && sample.dtype != "i32") continue;
        EXPECT_EQ(run_operation(build_for_gpu(sample), options).outputs.front().content, one_shot) << sample.text();
      }
    }
  }
}

}  // namespace
}  // namespace iris
