#include "irisgen/plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "irisgen/diagnostic.hpp"
#include "irisgen/pattern.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::plan_test {
namespace {

std::string world_of(int world) {
  return "{name: a, pattern: all_reduce, dtype: f32, world: " + std::to_string(world) + ", shape: {n: 4096}}";
}

std::string symbol_of(const std::string& kernel, const std::string& target) {
  return plan_of(kernel, target).kernels.at(0).symbol;
}

TEST(MakePlan, NamesWhatIsFixedInTheSymbol) {
  EXPECT_EQ(symbol_of("{name: gradient_sum, pattern: all_reduce, variant: two_shot, dtype: f32, world: 8, "
                      "shape: {n: 85002}}",
                      "gfx942"),
            "gradient_sum_two_shot_f32_sum_w8_n85002");
  EXPECT_EQ(
      symbol_of("{name: g, pattern: all_gather, variant: direct, dtype: f16, world: 2, shape: {m: 3, n: dynamic}}",
                "host"),
      "g_direct_f16_w2_m3_dynamic_n");
  EXPECT_EQ(symbol_of("{name: p, pattern: all_gather_matmul, variant: workgroup_specialized, dtype: f32, world: 2, "
                      "shape: {m: 32, n: 20, k: 50}}",
                      "sm_90a"),
            "p_workgroup_specialized_f32_w2_m32_n20_k50");
}

TEST(MakePlan, NamesTheFilesByKernelWorldAndTarget) {
  EXPECT_EQ(plan_of(world_of(8), "sm_90a").stem, "a.w8.sm_90a");
  EXPECT_EQ(plan_of(world_of(16), "host").stem, "a.w16.host");
}

TEST(MakePlan, GivesEveryKernelOfAnOperationItsOwnNames) {
  for (const std::string& kernel : kernels_of_every_template()) {
    const Plan plan = plan_of(kernel, "gfx942");
    std::set<std::string> symbols;
    std::set<std::string> stems;
    for (const KernelPlan& each : plan.kernels) {
      EXPECT_TRUE(symbols.insert(each.symbol).second) << each.symbol;
      EXPECT_TRUE(stems.insert(each.stem).second) << each.stem;
      EXPECT_TRUE(each.stem.starts_with(plan.stem)) << each.stem;
      EXPECT_EQ(each.part.empty(), plan.kernels.size() == 1 && plan.schedules[0].steps.size() == 1) << kernel;
    }
  }
}

TEST(MakePlan, RefusesAWorldThatTheTargetCannotHold) {
  EXPECT_EQ(refusal(world_of(8), "gfx942"), "");
  EXPECT_EQ(refusal(world_of(16), "host"), "");
  const std::string message = refusal(world_of(9), "gfx942");
  EXPECT_NE(message.find("kernel 'a' for gfx942:3:55: error: a world of 9 ranks; world must be from 1 to 8 there"),
            std::string::npos)
      << message;
}

/// As was the fastest of those measured on two and on four H200s and H100s: docs/measured.md, "What limits large
/// collectives".
TEST(MakePlan, PushesLongShardsByMoreBlocks) {
  for (const char* pattern : {"all_gather", "all_to_all"}) {
    const auto blocks = [&](const std::string& n) {
      return number(plan(pattern, "variant: direct, dtype: bf16, world: 4, shape: {n: " + n + "}", "sm_90a"), "blocks");
    };
    EXPECT_EQ(blocks("4194296"), 64) << pattern;
    EXPECT_EQ(blocks("4194304"), 128) << pattern;
    EXPECT_EQ(blocks("dynamic"), 64) << pattern;
  }
}

TEST(MakePlan, BoundsRegistersSoThatTheWholeGridIsResident) {
  const auto bound = [](const char* dtype, const char* target, const char* name, const std::string& config = "") {
    const Plan plan =
        plan_of("{name: a, pattern: all_gather_matmul, variant: workgroup_specialized, dtype: " + std::string(dtype) +
                    ", world: 8, shape: {m: dynamic, n: dynamic, k: dynamic}" + config + "}",
                target);
    return std::pair(number(plan, "blocks"), number(plan, name));
  };
  using Bound = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(bound("i32", "sm_90a", "min_blocks_per_sm"), Bound(264, 2));
  EXPECT_EQ(bound("bf16", "sm_90a", "min_blocks_per_sm"), Bound(132, 1));
  EXPECT_EQ(bound("f32", "sm_90a", "min_blocks_per_sm"), Bound(132, 1));
  // Sums in f64 take more registers than half a multiprocessor has.
  EXPECT_EQ(bound("f32, accumulate: f64", "sm_90a", "min_blocks_per_sm"), Bound(132, 1));
  EXPECT_EQ(bound("f32, accumulate: f64", "sm_90a", "min_blocks_per_sm", ", config: {blocks: 200}"), Bound(200, 2));
  // On AMD waves count: two blocks of 256 threads are two of each SIMD's.
  EXPECT_EQ(bound("f32, accumulate: f64", "gfx942", "waves_per_eu"), Bound(608, 2));
  EXPECT_EQ(number(plan_of(world_of(2), "gfx942"), "waves_per_eu"), 1);
  EXPECT_EQ(number(plan("all_reduce", "dtype: f32, world: 2, shape: {n: 5}, config: {threads: 512}", "gfx942"),
                   "waves_per_eu"),
            2);
  EXPECT_EQ(number(plan_of(world_of(2), "sm_90a"), "min_blocks_per_sm"), 1);
  EXPECT_THROW(number(plan_of(world_of(2), "host"), "min_blocks_per_sm"), std::logic_error);
}

TEST(MakePlan, BoundsWaitsUnlessTheDescriptionSaysOtherwise) {
  EXPECT_EQ(plan_of(world_of(2), "host").timeout_ms, 10'000);
  EXPECT_EQ(
      plan_of("{name: a, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 5}, config: {timeout_ms: 250}}", "host")
          .timeout_ms,
      250);
}

TEST(MakePlan, PassesDynamicExtentsInTheOrderOfThePattern) {
  const Plan plan =
      plan_of("{name: a, pattern: all_gather, dtype: f32, world: 2, shape: {n: dynamic, m: dynamic}}", "host");
  EXPECT_EQ(plan.problem.dynamic_extents(), (std::vector<std::string>{"m", "n"}));
  const auto& launch = std::get<iris::LaunchStep>(plan.schedules.at(0).steps.at(0).action);
  EXPECT_EQ(launch.extents, (std::vector<iris::Dimension>{{"m"}, {"n"}}));
}

TEST(MakePlan, FillsInEveryTemplateOnEveryTarget) {
  for (const std::string& kernel : kernels_of_every_template()) {
    for (const Target& target : targets()) {
      const Plan plan = plan_of(kernel, std::string(target.name));
      EXPECT_NE(plan.variant, "auto");
      EXPECT_FALSE(plan.choices.empty());
      EXPECT_FALSE(plan.arguments.empty());
      EXPECT_FALSE(plan.schedules.empty());
      for (const KernelPlan& each : plan.kernels) {
        EXPECT_GE(each.number("blocks"), 1);
        EXPECT_GE(each.number("threads"), 1);
        EXPECT_LE(each.number("threads"), target.max_threads);
        EXPECT_EQ(each.number("threads") % target.wave, 0) << kernel;
      }
      const bool predictable = target.predicts && plan.problem.is_static();
      EXPECT_EQ(plan.prediction.time_us > 0, predictable) << kernel;
      EXPECT_GE(plan.prediction.time_us, plan.prediction.floor_us) << kernel;
    }
  }
}

TEST(MakePlan, CoversEveryTemplate) {
  std::set<std::string> planned;
  for (const std::string& kernel : kernels_of_every_template()) {
    for (const KernelPlan& each : plan_of(kernel, "host").kernels) planned.insert(each.template_path);
  }
  std::set<std::string> all;
  for (const Pattern* pattern : patterns()) {
    for (const Variant& variant : pattern->variants) all.insert(variant.templates.begin(), variant.templates.end());
  }
  EXPECT_EQ(planned, all) << "kernels_of_every_template() in samples.hpp lacks one";
}

// --- rows whose length is known only at launch

TEST(ByRows, HasTensorCopiesWhereTheyAreMultiples) {
  const Plan plan = plan_of(
      "{name: a, pattern: matmul, variant: tiled, dtype: bf16, world: 1, layout: {b: nk}, shape: {m: 512, n: 520, k: "
      "dynamic}}",
      "sm_90a");
  EXPECT_EQ(plan.variant, "tiled");
  ASSERT_EQ(plan.kernels.size(), 2u);
  EXPECT_EQ(plan.kernels[0].part, "whole_rows");
  EXPECT_EQ(plan.kernels[0].main_loop(), MainLoop::wgmma);
  EXPECT_EQ(plan.kernels[1].part, "any_rows");
  EXPECT_EQ(plan.kernels[1].main_loop(), MainLoop::mma_packed);
  ASSERT_EQ(plan.schedules.size(), 2u);
  EXPECT_EQ(plan.schedules[0].bounds, (std::vector<iris::Bound>{{.extent = "k", .multiple_of = 8}}));
  EXPECT_TRUE(plan.schedules[1].bounds.empty());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.schedules[static_cast<std::size_t>(i)].up_to, iris::every_size);
    const iris::Step& step = plan.schedules[static_cast<std::size_t>(i)].steps.at(0);
    EXPECT_EQ(std::get<iris::LaunchStep>(step.action).kernel, i);
  }
  EXPECT_EQ(plan.problem.extent("k"), (iris::Extent{.dynamic = true})) << "the problem is what was asked for";
}

TEST(ByRows, AsksForMultiplesOfWhatIsContiguous) {
  using Multiples = std::map<std::string, std::int64_t>;
  const auto multiples = [](const std::string& pattern, const std::string& rest) {
    const Plan plan = plan_of("{name: a, pattern: " + pattern + ", world: 2, " + rest + "}", "sm_90a");
    Multiples found;
    for (const iris::Bound& bound : plan.schedules.front().bounds) {
      if (bound.multiple_of > 1) found[bound.extent] = bound.multiple_of;
    }
    return found;
  };
  EXPECT_EQ(multiples("matmul", "dtype: f16, shape: {m: dynamic, n: dynamic, k: dynamic}"),
            (Multiples{{"n", 8}, {"k", 8}}));
  EXPECT_EQ(multiples("matmul", "dtype: e4m3, layout: {b: nk}, shape: {m: 8, n: dynamic, k: dynamic}"),
            (Multiples{{"k", 16}}));
  EXPECT_EQ(multiples("matmul", "dtype: tf32, layout: {b: nk}, shape: {m: 8, n: 8, k: dynamic}"),
            (Multiples{{"k", 4}}));
  EXPECT_EQ(multiples("matmul_all_gather", "dtype: bf16, shard: n, shape: {m: 8, n: dynamic, k: 64}"),
            (Multiples{{"n", 16}}));
  EXPECT_EQ(multiples("matmul_all_gather",
                      "variant: bulk_synchronous, dtype: bf16, shard: n, shape: {m: 8, n: dynamic, k: 64}"),
            (Multiples{{"n", 16}}))
      << "the product is a part";
  EXPECT_EQ(multiples("matmul_reduce_scatter", "dtype: bf16, shape: {m: 256, n: dynamic, k: 64}"),
            (Multiples{{"n", 8}}));
  // Nothing to be won: another extent's rows are none, f32 is copied in any case, and so are rows on AMD.
  EXPECT_EQ(multiples("matmul", "dtype: bf16, shape: {m: 8, n: 8, k: 65}"), Multiples{});
  EXPECT_EQ(multiples("matmul", "dtype: bf16, layout: {b: nk}, shape: {m: dynamic, n: dynamic, k: 64}"), Multiples{});
  EXPECT_EQ(multiples("matmul", "dtype: bf16, shape: {m: 8, n: dynamic, k: 65}"), Multiples{});
  EXPECT_EQ(multiples("matmul", "dtype: f32, shape: {m: 8, n: 8, k: dynamic}"), Multiples{});
  EXPECT_EQ(multiples("matmul", "dtype: bf16, variant: split_k, shape: {m: 8, n: 8, k: dynamic}"), Multiples{})
      << "k may have fewer slices than parts";
  EXPECT_EQ(multiples("matmul", "dtype: bf16, shape: {m: 8, n: 8, k: dynamic}, config: {tile_m: 32}"), Multiples{});
  const Plan on_amd = plan_of(
      "{name: a, pattern: matmul, variant: tiled, world: 2, dtype: bf16, shape: {m: 8, n: 8, k: dynamic}}", "gfx942");
  EXPECT_EQ(on_amd.kernels.size(), 1u);
}

TEST(ByRows, HasSizesOfItsOwnEachWay) {
  const Plan plan =
      plan_of("{name: a, pattern: matmul, dtype: bf16, world: 1, shape: {m: 64, n: dynamic, k: 8192}}", "sm_90a");
  const auto is_of_multiples = [](const iris::Schedule& schedule) {
    return !schedule.bounds.empty() && schedule.bounds.front().multiple_of == 8;
  };
  const auto others = std::ranges::find_if_not(plan.schedules, is_of_multiples);
  ASSERT_NE(others, plan.schedules.begin());
  EXPECT_EQ(std::prev(others)->bounds, (std::vector<iris::Bound>{{.extent = "n", .multiple_of = 8}}));
  EXPECT_TRUE(std::none_of(others, plan.schedules.end(), is_of_multiples));
  for (const iris::Schedule& schedule : plan.schedules) {
    const auto& launch = std::get<iris::LaunchStep>(schedule.steps.at(0).action);
    const KernelPlan& kernel = plan.kernels.at(static_cast<std::size_t>(launch.kernel));
    EXPECT_EQ(kernel.main_loop() == MainLoop::wgmma, is_of_multiples(schedule)) << kernel.part;
    EXPECT_EQ(launch.maps.empty(), !is_of_multiples(schedule)) << kernel.part;
  }
}

// --- auto, by size and by what was measured

TEST(BySize, PicksTheVariantThatEachSizeIsFastestWith) {
  const Plan plan = plan_of("{name: a, pattern: all_reduce, dtype: bf16, world: 8, shape: {n: dynamic}}", "sm_90a");
  EXPECT_EQ(plan.variant, "by_size");
  ASSERT_GE(plan.schedules.size(), 2u);
  ASSERT_EQ(plan.kernels.size(), plan.schedules.size());
  EXPECT_EQ(plan.kernels.front().variant, "low_latency");
  EXPECT_EQ(plan.kernels.back().variant, "workgroup_specialized");
  EXPECT_EQ(plan.schedules.back().up_to, iris::every_size);
  // What is static chooses alike on both sides of each limit.
  const auto variant_of = [](std::int64_t n) {
    return plan_of("{name: a, pattern: all_reduce, dtype: bf16, world: 8, shape: {n: " + std::to_string(n) + "}}",
                   "sm_90a")
        .variant;
  };
  for (std::size_t range = 0; range + 1 < plan.schedules.size(); ++range) {
    const std::int64_t limit = plan.schedules[range].up_to;
    EXPECT_EQ(variant_of(limit), plan.kernels[range].variant) << limit;
    EXPECT_EQ(variant_of(limit + limit / 32), plan.kernels[range + 1].variant) << limit;
  }
}

/// Lines hold 12 bytes, three elements, of what is launched for more than 256 KiB: as they do where the size is known.
TEST(BySize, PlansAVariantAnewWhereItsKernelDependsOnTheSize) {
  const Plan plan = plan_of("{name: a, pattern: all_gather, dtype: f32, world: 3, shape: {n: dynamic}}", "sm_90a");
  ASSERT_GE(plan.kernels.size(), 2u);
  EXPECT_EQ(plan.kernels[0].number("line"), 2);
  EXPECT_EQ(plan.kernels[1].number("line"), 3);
  EXPECT_EQ(plan.kernels[1].variant, "low_latency");
  EXPECT_NE(plan.kernels[0].symbol, plan.kernels[1].symbol);
  EXPECT_NEAR(static_cast<double>(plan.schedules[0].up_to), 32768, 32768 / 64 + 1);
  EXPECT_NE(plan.choices.at(0).reason.find("low_latency_2 up to"), std::string::npos) << plan.choices.at(0).reason;
}

TEST(BySize, ServesBothVariantsWithOneSetOfBuffers) {
  const Plan plan = plan_of("{name: a, pattern: all_reduce, dtype: bf16, world: 8, shape: {n: dynamic}}", "sm_90a");
  ASSERT_EQ(plan.arguments.size(), 2u);
  EXPECT_TRUE(plan.arguments[0].symmetric) << "two_shot pulls from it";
  EXPECT_TRUE(plan.arguments[1].symmetric);
}

TEST(BySize, IsNotNeededWhereOneVariantIsFastestAtEverySize) {
  const Plan plan = plan_of("{name: a, pattern: reduce_scatter, dtype: f32, world: 1, shape: {n: dynamic}}", "sm_90a");
  EXPECT_EQ(plan.variant, "direct");
  EXPECT_EQ(plan.schedules.size(), 1u);
}

// --- all kernels of a description

TEST(PlanAll, TellsWhatCannotBePlannedAndForWhich) {
  const Spec spec = spec_of({"{name: a, pattern: all_reduce, dtype: f32, world: [2, 9], shape: {n: 5}}",
                             "{name: b, pattern: broadcast, dtype: f32, world: 2, shape: {n: 5}}"});
  const std::vector<const Target*> all = {find_target("host"), find_target("gfx942"), find_target("sm_90a")};
  std::vector<Refusal> refusals;
  EXPECT_EQ(plan_all(spec, all, {}, refusals).size(), 3u + 1u + 3u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_FALSE(refusals[0].everywhere);
  EXPECT_EQ(refusals[0].diagnostic.where.line, 3);
  EXPECT_EQ(refusals[0].message(), "for gfx942, sm_90a: a world of 9 ranks; world must be from 1 to 8 there");
  EXPECT_THROW(plan_all(spec, all), SpecError);

  refusals.clear();
  const std::vector<const Target*> amd = {find_target("gfx942")};
  EXPECT_EQ(plan_all(spec, amd, {}, refusals).size(), 2u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_TRUE(refusals[0].everywhere);
}

TEST(ShapeOf, MultipliesAndDivides) {
  const std::vector<iris::Dimension> shape = {{"m", 1, 4}, {"k"}, {"n", 3}};
  EXPECT_EQ(shape_of(shape, Extents({{"m", 64}, {"n", 5}, {"k", 7'000'000'000}})),
            (std::vector<std::int64_t>{16, 7'000'000'000, 15}));
  EXPECT_EQ(shape_of(shape, Extents({{"m", 0}, {"n", 0}, {"k", 0}})), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_THROW(shape_of(shape, Extents({{"m", 1}, {"n", 1}})), std::out_of_range);
}

TEST(SizeOf, IsTheProductOfAllExtentsAsFarAsItFits) {
  const Problem problem = {.pattern = "matmul",
                           .extents = {{"m", {.value = 6}}, {"n", {.dynamic = true}}, {"k", {.dynamic = true}}}};
  EXPECT_EQ(size_of(problem, Extents({{"n", 5}, {"k", 7}})), 6 * 5 * 7);
  EXPECT_EQ(size_of(problem, Extents({{"n", 5}, {"k", 0}})), 0);
  EXPECT_EQ(size_of(problem, Extents({{"n", std::int64_t{1} << 40}, {"k", std::int64_t{1} << 40}})), INT64_MAX);
}

}  // namespace
}  // namespace irisgen::plan_test
