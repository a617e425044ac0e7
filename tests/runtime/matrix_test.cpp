// Every pattern, variant and shard, element type, op, layout and world on the CPU, at sizes that nothing divides.
// Thinned so that every pair of choices occurs, but for static sizes, of most products in two variants together; in
// full with IRISGEN_TEST_ALL=1.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "iris/operation.hpp"
#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "run_samples.hpp"

namespace iris::matrix_test {
namespace {

using test::Algorithm;
using test::build;
using test::expect_right;
using test::expect_right_in_place;
using test::Sample;

/// Which rows of the matrix are an algorithm's.
struct Turns {
  std::size_t first;
  std::size_t step;
};

/// What multiplies is the same in all templates: `tiled` has all rows, of all others two have them between them.
Turns turns_of(const Algorithm& algorithm) {
  if (!test::is_matmul(algorithm) || algorithm.variant == "tiled" || test::test_all()) return {0, 1};
  const std::vector<Algorithm> all = test::every_algorithm();
  const auto own = std::ranges::find(all, algorithm.name(), &Algorithm::name);
  return {static_cast<std::size_t>(own - all.begin()) % 2, 2};
}

class HostMatrix : public testing::TestWithParam<Algorithm> {};

/// Static extents and dynamic ones: constants fold what dynamic extents leave to branches, so the code is another. What
/// is dynamic is compiled once for all sizes; static ones come in turn, in three rows of four, with test_all() all in
/// each.
TEST_P(HostMatrix, EveryElementIsRight) {
  const Algorithm& algorithm = GetParam();
  const std::vector<int> worlds = {1, 2, 3, 5, 8};
  const std::vector<std::string> ops = test::ops_of(algorithm);
  const std::vector<std::string> layouts = test::layouts_of(algorithm);
  const std::size_t sizes = test::awkward_extents(algorithm, 1).size();
  const std::size_t kinds_of_size = test::test_all() ? 2 : 4;  // of which the first is dynamic
  const std::array<std::size_t, 5> values = {worlds.size(), kinds_of_size, test::dtypes_of(algorithm).size(),
                                             ops.size(), layouts.size()};
  const auto rows = test::rows_of(values);
  std::set<std::pair<std::size_t, std::size_t>> taken;  // factor, value
  std::size_t number_of_static = 0;
  const Turns turns = turns_of(algorithm);
  for (std::size_t row = turns.first; row < rows.size(); row += turns.step) {
    for (std::size_t factor = 0; factor < values.size(); ++factor) taken.emplace(factor, rows[row].at(factor));
    const auto& [world, kind_of_size, dtype, op, layout] = rows[row];
    Sample sample{.algorithm = algorithm,
                  .world = worlds[world],
                  .dtype = test::dtypes_of(algorithm).at(dtype),
                  .op = ops[op],
                  .layout = layouts[layout]};
    const bool is_static = kind_of_size > 0;
    const std::size_t size_in_turn = number_of_static % sizes;
    if (is_static) ++number_of_static;
    const std::vector<Extents> extents = test::awkward_extents(algorithm, sample.world);
    for (std::size_t each = 0; each < sizes; ++each) {
      if (is_static && each != size_in_turn && !test::test_all()) continue;
      sample.extents = is_static ? extents[each] : test::known_extents(algorithm, extents[each]);
      SCOPED_TRACE(sample.text());
      const BuiltOperation built = build(sample);
      expect_right(built, extents[each]);
      expect_right_in_place(built, extents[each]);
    }
  }
  EXPECT_EQ(taken.size(), std::accumulate(values.begin(), values.end(), std::size_t{0})) << "a value that no row has";
  EXPECT_GE(number_of_static, sizes) << "a size that no row has";
}

/// Whatever a rank still needs of its memory, and whoever is late.
TEST_P(HostMatrix, InPlaceIsRightInAnyOrder) {
  const Algorithm& algorithm = GetParam();
  for (const int world : {2, 3, 5}) {
    const Extents extents = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, world, 3, 51, 7)
                                                       : test::collective_extents(algorithm, world, 3, 51);
    const Sample sample{.algorithm = algorithm, .world = world, .extents = test::known_extents(algorithm, extents)};
    if (test::plan_of(sample, "host").in_place == InPlace::no) GTEST_SKIP() << "cannot work in place";
    const BuiltOperation built = build(sample);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(sample.text() + "seed " + std::to_string(seed));
      expect_right_in_place(built, extents, seed);
    }
  }
}

/// More ranks than any GPU machine has.
TEST_P(HostMatrix, LargeWorldsAreRight) {
  const Algorithm& algorithm = GetParam();
  for (const auto& [world, dtype] :
       {std::pair{13, std::string("f32")}, {16, test::dtype_of(algorithm, {"f16", "f64"})}}) {
    Extents extents = test::collective_extents(algorithm, world, 1, 1003);
    if (test::is_matmul(algorithm)) extents = test::matmul_extents(algorithm, world, 3, 7, 9);
    const Sample sample{
        .algorithm = algorithm, .world = world, .dtype = dtype, .extents = test::known_extents(algorithm, extents)};
    SCOPED_TRACE(sample.text());
    expect_right(build(sample), extents);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostMatrix, testing::ValuesIn(test::every_algorithm()),
                         [](const auto& info) { return info.param.name(); });

/// A's rows of rank r in launch l are all r + 10·l, B is one: each row of the result shows whose it is, or whether it
/// is the sum of all ranks', and of when.
void expect_launches_in_turn(const BuiltOperation& built, int world_size, std::uint64_t seed) {
  constexpr std::int64_t n = 5;
  constexpr std::int64_t k = 2;
  constexpr std::array<std::int64_t, 9> rows_of_launches = {0, 70, 1, 16, 70, 0, 70, 2, 40};
  const std::string& pattern = built.manifest.problem.pattern;
  const bool gathers = pattern == "all_gather_matmul" || pattern == "matmul_all_gather";
  const bool scatters = pattern == "matmul_reduce_scatter";
  const std::int64_t most = 70;
  const auto extents_of = [&](std::int64_t rows) { return Extents{{"m", rows * world_size}, {"n", n}, {"k", k}}; };
  World world({.size = world_size, .heap_bytes = 1 << 20, .seed = seed});
  world.run([&](Context& context) {
    Operation operation(context, built, extents_of(most));
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    void* b = context.allocate(floats(k * n));
    context.device().copy(b, std::vector<float>(k * n, 1).data(), floats(k * n));
    const auto value = [](std::size_t launch, std::int64_t rank) {
      return static_cast<float>(10 * launch) + static_cast<float>(rank);
    };
    std::vector<void*> outputs;
    std::vector<void*> inputs;
    for (std::size_t launch = 0; launch < rows_of_launches.size(); ++launch) {
      const std::int64_t rows_of_a = gathers ? most : most * world_size;
      inputs.push_back(context.allocate(floats(rows_of_a * k)));
      outputs.push_back(context.allocate(floats(most * world_size * n)));
      const std::vector<float> values(static_cast<std::size_t>(rows_of_a * k), value(launch, context.rank()));
      context.device().copy(inputs.back(), values.data(), floats(rows_of_a * k));
    }
    for (std::size_t launch = 0; launch < rows_of_launches.size(); ++launch) {  // none waits for the one before
      operation.launch(std::array{inputs[launch], b, outputs[launch]}, extents_of(rows_of_launches.at(launch)));
    }
    for (std::size_t launch = 0; launch < rows_of_launches.size(); ++launch) {
      const std::int64_t rows = rows_of_launches.at(launch);
      std::vector<float> result(static_cast<std::size_t>((scatters ? rows : rows * world_size) * n));
      context.device().copy(result.data(), outputs[launch], result.size() * sizeof(float));
      float of_all = 0;
      for (int rank = 0; rank < world_size; ++rank) of_all += value(launch, rank);
      for (std::size_t i = 0; i < result.size(); ++i) {
        if (result[i] == k * (gathers ? value(launch, static_cast<std::int64_t>(i) / (rows * n)) : of_all)) continue;
        throw std::runtime_error("launch " + std::to_string(launch) + ", rank " + std::to_string(context.rank()) +
                                 ", element " + std::to_string(i) + " is " + std::to_string(result[i]));
      }
    }
  });
}

/// One operation, launched with few rows and with many: what a launch leaves behind must not count in the next.
TEST(HostLaunches, OfOtherSizesInTurnAreRight) {
  for (const std::string pattern :
       {"all_gather_matmul", "matmul_reduce_scatter", "matmul_all_reduce", "matmul_all_gather"}) {
    for (const irisgen::Variant& variant : irisgen::find_pattern(pattern)->variants) {
      for (const int world : {2, 3}) {
        const Sample sample{.algorithm = {pattern, std::string(variant.name)}, .world = world};
        if (test::known_extents(sample.algorithm, {{"m", 1}, {"n", 1}}).find("m")) continue;  // of one size each
        const BuiltOperation built = build(sample);
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
          EXPECT_NO_THROW(expect_launches_in_turn(built, world, seed))
              << pattern << " " << variant.name << ", " << world << " ranks, seed " << seed;
        }
      }
    }
  }
}

/// The same where launches of other sizes are other variants', of which two share a kernel and three a buffer.
TEST(HostLaunches, OfOtherVariantsInTurnAreRight) {
  for (const int world : {2, 3}) {
    const Sample sample{.algorithm = {"all_gather_matmul", "auto"}, .world = world, .extents = {{"n", 5}, {"k", 2}}};
    irisgen::Plan plan = test::plan_of(sample, "host");
    irisgen::TuningTable table;
    const auto measure = [&](std::int64_t rows, const std::string& variant, irisgen::Settings config) {
      const Extents lengths = {{"m", rows * world}};
      table.entries.push_back(test::tuning_entry(plan.problem, lengths, "host", variant, std::move(config)));
    };
    measure(1, "bulk_synchronous", {{"tile_n", {.value = 32}}});
    measure(16, "producer_consumer", {});
    measure(32, "workgroup_specialized", {});
    measure(64, "bulk_synchronous", {{"tile_n", {.value = 16}}});
    plan = test::plan_of(sample, "host", {.tuning = {&table, 1}});
    ASSERT_EQ(plan.variant, "by_size");
    ASSERT_EQ(plan.intermediates.size(), 1U);
    ASSERT_EQ(plan.kernels.size(), 6U) << plan.choices.front().reason;
    const BuiltOperation built = build_operation(plan, {}, test::test_cache());
    for (std::uint64_t seed = 0; seed < 40; ++seed)
      EXPECT_NO_THROW(expect_launches_in_turn(built, world, seed)) << world << " ranks, seed " << seed;
  }
}

/// Nothing, less than a cache line, whole ones, and more, in one operation.
TEST(HostPadded, RowsOfEachLaunchAreRight) {
  for (const char* layout : {"kn", "nk"}) {
    const BuiltOperation built =
        build({.algorithm = {"matmul", "padded"}, .dtype = "f32", .layout = layout, .config = "tile_n: 16"});
    for (const std::int64_t k : {0, 1, 32, 33, 64, 100}) expect_right(built, {{"m", 13}, {"n", 35}, {"k", k}});
  }
}

/// Each part is summed along k, and the parts are added in their order, whichever block is done first: floats show any
/// other order.
TEST(HostSplitK, AddsThePartsInTheirOrder) {
  constexpr std::int64_t m = 13;  // two tiles, of five parts each
  constexpr std::int64_t n = 30;
  constexpr std::int64_t depth_of_part = 6 * 16;
  constexpr std::int64_t k = 5 * depth_of_part;
  const BuiltOperation built = build({.algorithm = {"matmul", "split_k"},
                                      .extents = {{"m", m}, {"n", n}, {"k", k}},
                                      .config = "parts: 5, blocks: 10, tile_n: 16"});
  const auto floats = [](std::int64_t count, unsigned seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::mt19937 random(seed);
    for (float& value : values) value = std::ldexp(static_cast<float>(random() % 1000) - 500, random() % 20);
    return values;
  };
  const std::vector<float> a = floats(m * k, 1);
  const std::vector<float> b = floats(k * n, 2);
  std::vector<float> wanted;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::int64_t part = 0; part < k; part += depth_of_part) {
        float of_part = 0;
        for (std::int64_t i = part; i < part + depth_of_part; ++i)
          of_part =
              std::fma(a[static_cast<std::size_t>(row * k + i)], b[static_cast<std::size_t>(i * n + column)], of_part);
        sum = part == 0 ? of_part : sum + of_part;
      }
      wanted.push_back(sum);
    }
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> result(m * n);
    World world({.size = 1, .heap_bytes = 1 << 20, .seed = seed});
    world.run([&](Context& context) {
      const auto allocate = [&](const std::vector<float>& values) {
        void* memory = context.allocate(values.size() * sizeof(float));
        context.device().copy(memory, values.data(), values.size() * sizeof(float));
        return memory;
      };
      const std::array buffers = {allocate(a), allocate(b), allocate(result)};
      Operation operation(context, built);
      operation.launch(buffers);
      context.device().copy(result.data(), buffers[2], result.size() * sizeof(float));
    });
    EXPECT_EQ(result, wanted) << "seed " << seed;
  }
}

/// The operation that `auto` makes, whose ranges end at `step`, twice that, … elements, so that all are quick to run.
BuiltOperation with_near_limits(const Sample& sample, std::int64_t step) {
  BuiltOperation built = build_operation(test::plan_of(sample, "host"), {}, test::test_cache());
  std::int64_t limit = 0;
  for (Schedule& schedule : built.manifest.schedules) {
    if (schedule.up_to != every_size) schedule.up_to = limit += step;
  }
  return built;
}

/// Of several variants a launch takes the one for its size.
TEST(HostBySize, EverySizeIsRight) {
  const BuiltOperation built =
      with_near_limits({.algorithm = {"all_reduce", "auto"}, .world = 3, .dtype = "bf16"}, 1000);
  ASSERT_EQ(built.manifest.variant, "by_size");
  ASSERT_EQ(built.manifest.schedules.size(), 5U);
  for (const std::int64_t n : {0, 1, 1000, 1001, 2000, 2001, 3000, 3001, 4000, 4001, 6000})
    expect_right(built, {{"m", 1}, {"n", n}});
}

/// Some sizes by several kernels and a buffer between them.
TEST(HostBySize, EverySizeIsRightWithABufferBetweenKernels) {
  const BuiltOperation built = with_near_limits(
      {.algorithm = {"all_reduce", "auto"}, .world = 2, .dtype = "bf16", .extents = {{"n", 4096}}}, 4096);
  ASSERT_EQ(built.manifest.intermediates.size(), 1U);
  for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 9}) expect_right(built, {{"m", m}, {"n", 4096}});
}

/// A product of any number of rows by three kernels, each with tiles of its own; `shape` are its other lengths.
BuiltOperation of_any_rows(const std::string& shape) {
  const irisgen::Target& host = *irisgen::find_target("host");
  const irisgen::Spec spec = irisgen::parse_spec(
      "sample.yaml",
      "irisgen: 1\nkernels: [{name: a, pattern: matmul, world: 2, dtype: bf16, shape: {m: dynamic, " + shape + "}}]");
  const irisgen::KernelSpec& kernel = spec.kernels.front();
  irisgen::TuningTable table;
  const irisgen::Plan untuned = irisgen::make_plan(kernel, 2, host);
  EXPECT_EQ(untuned.kernels.size(), 1U);
  for (const int rows : {8, 64}) {
    const Extents measured = {{"m", rows}, {"n", 4096}, {"k", 4096}};  // of which what is known is not taken
    table.entries.push_back(test::tuning_entry(untuned.problem, measured, "host", "split_k",
                                               {{"parts", {.value = rows == 8 ? 3 : 2}}, {"tile_n", {.value = 16}}}));
  }
  const irisgen::Plan plan = irisgen::make_plan(kernel, 2, host, {.tuning = {&table, 1}});
  EXPECT_EQ(plan.variant, "by_size");
  EXPECT_EQ(plan.kernels.size(), 3U);
  return build_operation(plan, {}, test::test_cache());
}

constexpr std::array<std::int64_t, 12> some_rows = {0, 1, 3, 4, 8, 16, 31, 32, 64, 128, 129, 200};

TEST(HostBySize, EveryNumberOfRowsIsRight) {
  const BuiltOperation built = of_any_rows("n: 40, k: 70");
  for (const std::int64_t m : some_rows) expect_right(built, {{"m", m}});
}

TEST(HostBySize, EveryNumberOfRowsIsRightWhateverTheOtherLengthsAre) {
  const BuiltOperation built = of_any_rows("n: dynamic, k: dynamic");
  for (const std::int64_t m : some_rows) expect_right(built, {{"m", m}, {"n", 40}, {"k", 70}});
  expect_right(built, {{"m", 1}, {"n", 1000}, {"k", 3}});
  expect_right(built, {{"m", 300}, {"n", 1}, {"k", 0}});
}

}  // namespace
}  // namespace iris::matrix_test
