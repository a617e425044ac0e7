// Products, plain and fused, whose lengths are known only at launch.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/generator/samples.hpp"

namespace irisgen::by_size_test {
namespace {

/// The kernels that a launch of so many rows takes, in their order.
std::vector<const KernelPlan*> kernels_at(const Plan& plan, std::int64_t rows) {
  const auto is_within = [&](const iris::Bound& bound) { return bound.extent == "m" && iris::takes(bound, rows); };
  const auto schedule = std::ranges::find_if(plan.schedules, [&](const iris::Schedule& each) {
    return each.up_to == iris::every_size && std::ranges::all_of(each.bounds, is_within);
  });
  std::vector<const KernelPlan*> kernels;
  for (const iris::Step& step : schedule->steps) {
    if (const auto* launch = std::get_if<iris::LaunchStep>(&step.action))
      kernels.push_back(&plan.kernels.at(static_cast<std::size_t>(launch->kernel)));
  }
  return kernels;
}

/// The one of them that multiplies.
const KernelPlan& kernel_at(const Plan& plan, std::int64_t rows) {
  const std::vector<const KernelPlan*> kernels = kernels_at(plan, rows);
  return **std::ranges::find_if(kernels, [](const KernelPlan* kernel) { return kernel->main_loop().has_value(); });
}

TEST(BySize, GivesAProductOfAnyNumberOfRowsTheTilesThatSuitIt) {
  const std::string start = "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: 4096, k: 4096, m: ";
  const Plan any = plan("matmul", start + "dynamic}", "sm_90a");
  EXPECT_EQ(any.variant, "by_size");
  EXPECT_LE(any.kernels.size(), 6u + 1u);  // and one of few rows
  std::vector<std::int64_t> all_rows = {1, 16, 50, 100, 200, 500, 16384};
  for (std::int64_t rows = 128; rows <= 4096; rows += 128) all_rows.push_back(rows);
  for (const std::int64_t rows : all_rows) {
    const Plan known = plan("matmul", start + std::to_string(rows) + "}", "sm_90a");
    const KernelPlan& taken = kernel_at(any, rows);
    // Known to be 65 to 127, narrow tiles are not made transposed; the kernel, whose stages hold 128, makes them so.
    const std::int64_t rows_of_same = rows > 64 && rows < 128 ? 128 : rows;
    const Plan same =
        plan("matmul",
             start + std::to_string(rows_of_same) + "}, variant: " + std::string(taken.variant) +
                 ", config: {tile_n: " + std::to_string(taken.number("tile_n")) +
                 (taken.variant == "split_k" ? ", parts: " + std::to_string(taken.number("parts")) : "") + "}",
             "sm_90a");
    EXPECT_LE(same.prediction.time_us, 1.2 * known.prediction.time_us) << rows;
  }
  // The words name the kernels that launches of each size take.
  const std::string& words = any.choices.front().reason;
  for (const std::int64_t rows : {16, 100, 500, 2000}) {
    const std::string& part = kernel_at(any, rows).part;
    EXPECT_NE(words.find(" " + part + " up to m = "), std::string::npos) << part << ": " << words;
  }
  EXPECT_NE(words.find(" " + kernel_at(any, 4096).part + " above"), std::string::npos) << words;
  EXPECT_NE(words.find("split_k_2 up to m = "), std::string::npos) << words;
  EXPECT_EQ(kernel_at(any, 16).number("tile_n"), 64);
  EXPECT_EQ(kernel_at(any, 100).number("tile_n"), 64);
  EXPECT_EQ(kernel_at(any, 4096).number("tile_n"), 256);
  // Of few rows stages hold no more than there are.
  EXPECT_EQ(kernel_at(any, 16).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 64).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 65).number("stage_rows"), 128);
}

/// The kernel for few rows has the shape that it would have if they were known, since its stages are as small.
TEST(BySize, ShapesAKernelOfFewRowsForThese) {
  for (const char* shape : {"n: 8192, k: 1024", "n: 1280, k: 8192", "n: 7168, k: 2048"}) {
    const auto planned = [&](const std::string& m) {
      return plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {" + std::string(shape) + m, "sm_90a");
    };
    const Plan any = planned(", m: dynamic}");
    const Plan known = planned(", m: 64}");
    const KernelPlan& taken = kernel_at(any, 64);
    EXPECT_EQ(taken.variant, known.variant) << shape;
    EXPECT_EQ(taken.number("tile_n"), known.kernels[0].number("tile_n")) << shape;
    EXPECT_EQ(taken.number("stages"), known.kernels[0].number("stages")) << shape;
  }
}

/// Of a pattern that divides rows among ranks there are few as long as each rank has few.
TEST(BySize, CountsTheRowsThatEachRankMultiplies) {
  const std::string start = "world: 4, dtype: bf16, layout: {b: nk}, shape: {n: 4096, k: 1024, m: dynamic}";
  const Plan any = plan("matmul_reduce_scatter", start + ", config: {tile_n: 256}", "sm_90a");
  EXPECT_EQ(any.variant, "by_size");
  EXPECT_EQ(kernel_at(any, 256).variant, "fused_sequential");
  EXPECT_EQ(kernel_at(any, 256).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 260).number("stage_rows"), 128);
  EXPECT_EQ(kernel_at(any, 4096).number("stage_rows"), 128);
}

/// Each of them as good as if the rows were known, by the model: with other variants, several of several kernels.
TEST(BySize, GivesFusedProductsOfAnyNumberOfRowsWhatSuitsThem) {
  struct Case {
    const char* pattern;
    const char* shape;
  };
  for (const auto& [pattern, shape] : {Case{"matmul_all_reduce", "n: 8192, k: 3584, m: "},
                                       {"matmul_reduce_scatter", "n: 8192, k: 3584, m: "},
                                       {"all_gather_matmul", "n: 3584, k: 8192, m: "},
                                       {"matmul_all_gather", "n: 3584, k: 8192, m: "}}) {
    const std::string start = std::string("world: 8, dtype: bf16, layout: {b: nk}, shape: {") + shape;
    const Plan any = plan(pattern, start + "dynamic}", "sm_90a");
    EXPECT_EQ(any.variant, "by_size") << pattern;
    EXPECT_LE(any.kernels.size(), 10u) << pattern;
    for (const std::int64_t rows : {8, 64, 128, 512, 1024, 4096, 16384}) {
      const Plan known = plan(pattern, start + std::to_string(rows) + "}", "sm_90a");
      const KernelPlan& taken = kernel_at(any, rows);
      const std::string variant = taken.problem.pattern == "matmul" ? "bulk_synchronous" : taken.variant;
      const bool has_roles =
          std::ranges::find(taken.constants, "comm_blocks", &Constant::name) != taken.constants.end();
      const Plan same =
          plan(pattern,
               start + std::to_string(rows) + "}, variant: " + variant +
                   ", config: {tile_n: " + std::to_string(taken.number("tile_n")) +
                   (has_roles ? ", comm_blocks: " + std::to_string(taken.number("comm_blocks")) : "") + "}",
               "sm_90a");
      EXPECT_LE(same.prediction.time_us, 1.25 * known.prediction.time_us) << pattern << " " << rows;
    }
  }
}

/// What moves the rows is the same whatever the tiles are: one kernel serves them all.
TEST(BySize, SharesKernelsAmongTheVariantsOfAnOperation) {
  const Plan any = plan("all_gather_matmul",
                        "world: 8, dtype: bf16, layout: {b: nk}, "
                        "shape: {n: 1280, k: 8192, m: dynamic}",
                        "sm_90a");
  ASSERT_EQ(kernels_at(any, 64).size(), 2u);
  ASSERT_EQ(kernels_at(any, 128).size(), 2u);
  EXPECT_EQ(kernels_at(any, 64)[0], kernels_at(any, 128)[0]);
  EXPECT_NE(kernels_at(any, 64)[1], kernels_at(any, 128)[1]);
  std::set<std::string> symbols;
  for (const KernelPlan& kernel : any.kernels) EXPECT_TRUE(symbols.insert(kernel.symbol).second) << kernel.symbol;
}

/// Copies bring flags of one kernel to another, which must have been launched as often.
TEST(BySize, SharesNoKernelsWhoseFlagsAreCopied) {
  const std::string start = "world: 4, dtype: bf16, layout: {b: nk}, variant: producer_consumer, shape: {n: 3584, ";
  const Plan any = plan("all_gather_matmul", start + "k: dynamic, m: dynamic}", "sm_90a");
  ASSERT_EQ(any.schedules.size(), 2u);  // of whole rows, and of others
  std::set<int> barriers;
  for (const iris::Schedule& schedule : any.schedules)
    barriers.insert(std::get<iris::LaunchStep>(schedule.steps.at(0).action).kernel);
  EXPECT_EQ(barriers.size(), 2u);
  for (const int barrier : barriers)
    EXPECT_EQ(any.kernels.at(static_cast<std::size_t>(barrier)).problem.pattern, "barrier");
}

TEST(BySize, LeavesAProductAloneThatTheDescriptionShapes) {
  const std::string start = "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: 4096, k: 4096, m: dynamic}";
  EXPECT_EQ(plan("matmul", start + ", config: {tile_n: 128}", "sm_90a").kernels.front().number("tile_n"), 128);
  EXPECT_EQ(plan("matmul", start + ", variant: tiled", "sm_90a").kernels.size(), 1u);
}

/// Few rows are few whatever the other lengths turn out to be. Where tiles end is not known, so that few kernels do.
TEST(BySize, ShapesAKernelOfFewRowsWhereOtherLengthsAreUnknownToo) {
  const Plan any =
      plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: dynamic, k: 4096, m: dynamic}", "sm_90a");
  EXPECT_EQ(any.variant, "by_size");
  EXPECT_LE(any.kernels.size(), 4u);
  EXPECT_TRUE(any.choices.front().reason.ends_with(", as predicted, with the other lengths 4096"));
  EXPECT_EQ(kernel_at(any, 1).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 64).number("stage_rows"), 64);
  EXPECT_EQ(kernel_at(any, 64).number("tile_n"), 64);
  EXPECT_EQ(kernel_at(any, 256).number("stage_rows"), 128);
  EXPECT_EQ(kernel_at(any, 4096).number("tile_n"), 256);
}

/// Rows that are known decide nothing: columns do then.
TEST(BySize, TellsLaunchesApartByColumnsWhereRowsAreKnown) {
  const Plan any =
      plan("matmul", "world: 1, dtype: bf16, layout: {b: nk}, shape: {n: dynamic, k: dynamic, m: 4096}", "sm_90a");
  std::set<std::string> bounded;
  for (const iris::Schedule& schedule : any.schedules) {
    for (const iris::Bound& bound : schedule.bounds) {
      if (bound.up_to != iris::every_size) bounded.insert(bound.extent);
    }
  }
  EXPECT_EQ(bounded, std::set<std::string>{"n"});
}

}  // namespace
}  // namespace irisgen::by_size_test
