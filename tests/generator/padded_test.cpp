// Products of copies of A and B whose rows are whole cache lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/generator/samples.hpp"

namespace irisgen::padded_test {
namespace {

Plan product(const std::string& rest) {
  return plan("matmul", "world: 1, " + rest, "sm_90a");
}

std::vector<std::string> parts_of(const Plan& plan) {
  std::vector<std::string> parts;
  for (const KernelPlan& kernel : plan.kernels) parts.push_back(kernel.part + " " + kernel.template_path);
  return parts;
}

using Parts = std::vector<std::string>;
using Shape = std::vector<iris::Dimension>;

TEST(Padded, CopiesRowsOfBothToWholeLines) {
  const Plan plan = product("variant: padded, dtype: bf16, layout: {b: nk}, shape: {m: 700, n: 300, k: 65}");
  EXPECT_EQ(parts_of(plan), (Parts{"pad_a pad/rows.hip", "pad_b pad/rows.hip", "matmul matmul/tiled.hip"}));
  ASSERT_EQ(plan.intermediates.size(), 2U);
  EXPECT_EQ(plan.intermediates[0].shape, (Shape{{"m"}, {"k", 1, 1, 0, 64}}));
  EXPECT_EQ(plan.intermediates[1].shape, (Shape{{"n"}, {"k", 1, 1, 0, 64}}));
  EXPECT_FALSE(plan.intermediates[0].symmetric || plan.intermediates[1].symmetric) << "no other rank reads the copies";
  const KernelPlan& matmul = plan.kernels[2];
  EXPECT_EQ(matmul.main_loop(), MainLoop::wgmma);
  EXPECT_EQ(matmul.problem.extent("k").value, 128);
  const auto& launch = std::get<iris::LaunchStep>(plan.schedules[0].steps[2].action);
  EXPECT_EQ(launch.buffers, (Parts{"padded_a", "padded_b", "output"}));
  EXPECT_EQ(launch.maps.back().columns, (iris::Dimension{"k", 1, 1, 0, 64}));
}

/// A stays where it is if its rows are whole lines.
TEST(Padded, TransposesABThatLiesAlongN) {
  for (const char* rest :
       {"dtype: bf16, shape: {m: 700, n: 301, k: 128}", "dtype: e4m3, shape: {m: 70, n: 304, k: 128}",
        "dtype: tf32, shape: {m: 70, n: 304, k: 128}"}) {
    const Plan plan = product(std::string("variant: padded, ") + rest);
    EXPECT_EQ(parts_of(plan).at(0), "pad_b pad/transposed.hip");
    EXPECT_EQ(plan.kernels.size(), 2U);
    EXPECT_EQ(plan.kernels[1].main_loop(), MainLoop::wgmma) << rest;
    EXPECT_EQ(plan.kernels[1].problem.layout_b, iris::Layout::nk);
    const auto& launch = std::get<iris::LaunchStep>(plan.schedules[0].steps[1].action);
    EXPECT_EQ(launch.buffers.at(0) + launch.buffers.at(1), "apadded_b");
  }
}

TEST(Padded, IsRefusedWhereThereIsNothingToPad) {
  for (const char* k : {"64", "0"}) {
    expect_refused(
        "matmul",
        "variant: padded, world: 1, dtype: bf16, layout: {b: nk}, shape: {m: 8, n: 9, k: " + std::string(k) + "}",
        "sm_90a", "nothing to pad: rows of A and B are whole cache lines");
  }
}

/// Rows of unknown length become such as tensor copies take.
TEST(Padded, TakesRowsThatAreKnownOnlyAtLaunch) {
  const Plan plan = product("variant: padded, dtype: bf16, shape: {m: dynamic, n: dynamic, k: dynamic}");
  EXPECT_EQ(parts_of(plan).size(), 3U);
  EXPECT_EQ(plan.kernels[2].main_loop(), MainLoop::wgmma);
  EXPECT_EQ(plan.kernels[2].problem.extent("k").multiple, 64);
  const auto& launch = std::get<iris::LaunchStep>(plan.schedules[0].steps[2].action);
  EXPECT_EQ(launch.extents, (Shape{{"m"}, {"n"}, {"k", 1, 1, 0, 64}}));
  const Plan of_columns = product("variant: padded, dtype: bf16, shape: {m: 700, n: dynamic, k: 128}");
  EXPECT_EQ(parts_of(of_columns), (Parts{"pad_b pad/transposed.hip", "matmul matmul/tiled.hip"}))
      << "one kernel serves all n, since A alone comes from the caller";
}

/// As they were fastest on an H200.
TEST(Padded, IsTakenWhereCopiesCostLessThanTheySave) {
  const auto chosen = [](const std::string& rest) { return product(rest).variant; };
  const std::string nk = "dtype: bf16, layout: {b: nk}, shape: ";
  EXPECT_EQ(chosen(nk + "{m: 512, n: 512, k: 513}"), "padded");
  EXPECT_EQ(chosen(nk + "{m: 1024, n: 1024, k: 1025}"), "padded");
  EXPECT_EQ(chosen(nk + "{m: 16, n: 4096, k: 4097}"), "split_k");
  EXPECT_EQ(chosen(nk + "{m: 64, n: 4096, k: 4097}"), "split_k");
  EXPECT_EQ(chosen(nk + "{m: 128, n: 4096, k: 4097}"), "padded");
  EXPECT_EQ(chosen(nk + "{m: 4096, n: 4104, k: 4104}"), "padded");
  EXPECT_EQ(chosen(nk + "{m: 3000, n: 3000, k: 3000}"), "padded");
  EXPECT_NE(chosen(nk + "{m: 1024, n: 4096, k: 4104}"), "padded");
  EXPECT_NE(chosen(nk + "{m: 2048, n: 2048, k: 2056}"), "padded");
  EXPECT_EQ(chosen("dtype: e4m3, shape: {m: 512, n: 512, k: 512}"), "padded");
  EXPECT_EQ(chosen("dtype: tf32, shape: {m: 512, n: 512, k: 512}"), "padded");
  EXPECT_EQ(chosen("dtype: tf32, layout: {b: nk}, shape: {m: 4096, n: 4096, k: 4100}"), "padded");
  EXPECT_EQ(chosen("dtype: f32, layout: {b: nk}, shape: {m: 512, n: 512, k: 513}"), "split_k");
  EXPECT_EQ(chosen("dtype: f64, layout: {b: nk}, shape: {m: 2048, n: 2049, k: 2049}"), "tiled");
}

/// Measured on an H200. What follows a copy is set up meanwhile: three launches that are not would take 2 µs more.
TEST(Padded, TakesAsLongAsPredicted) {
  const auto predicted = [](const std::string& shape) {
    return product("variant: padded, dtype: bf16, layout: {b: nk}, shape: " + shape).prediction.time_us;
  };
  EXPECT_NEAR(predicted("{m: 1024, n: 1025, k: 1025}"), 11.6, 1);
  EXPECT_NEAR(predicted("{m: 3000, n: 3000, k: 3000}"), 91.7, 5);
}

/// Measured on an H200, of k of 4104, 4112, 4128 and 4160: 1.74, 1.33, 1.20 and 1.
TEST(Padded, IsWorthMoreTheLessRowsSuitLines) {
  const auto predicted = [](int k) {
    return product(
               "variant: tiled, dtype: bf16, layout: {b: nk}, config: {tile_n: 128}, shape: {m: 4096, n: 4104, k: " +
               std::to_string(k) + "}")
        .prediction.time_us;
  };
  const double whole_us = predicted(4160);
  EXPECT_NEAR(predicted(4128) / whole_us, 1.20, 0.05);
  EXPECT_NEAR(predicted(4112) / whole_us, 1.33, 0.05);
  EXPECT_NEAR(predicted(4104) / whole_us, 1.74, 0.1);
}

/// Tensor copies bring the columns of launches that suit them, copies those of all others.
TEST(Padded, ServesColumnsThatAreKnownOnlyAtLaunch) {
  const Plan plan = product("dtype: bf16, shape: {m: 4096, n: dynamic, k: 4096}");
  const auto launches_pad = [&](const iris::Schedule& schedule) {
    return std::ranges::any_of(schedule.steps, [&](const iris::Step& step) {
      const auto* launch = std::get_if<iris::LaunchStep>(&step.action);
      return launch && plan.kernels.at(static_cast<std::size_t>(launch->kernel)).template_path.starts_with("pad/");
    });
  };
  EXPECT_FALSE(launches_pad(plan.schedules.front()));
  EXPECT_EQ(plan.schedules.front().bounds.at(0).multiple_of, 8);
  EXPECT_TRUE(launches_pad(plan.schedules.back()));
  EXPECT_TRUE(plan.schedules.back().bounds.empty());
}

TEST(Padded, IsAPartOfFusedProducts) {
  const Plan fused =
      plan("matmul_all_reduce", "variant: bulk_synchronous, world: 8, dtype: bf16, shape: {m: 256, n: 4096, k: 4097}",
           "sm_90a");
  const Parts parts = parts_of(fused);
  EXPECT_EQ(parts.at(0), "matmul_pad_a pad/rows.hip");
  EXPECT_EQ(parts.at(1), "matmul_pad_b pad/transposed.hip");
  EXPECT_TRUE(parts.at(2).starts_with("matmul_matmul matmul/"));
  const auto on_heap = [&](std::string_view name) {
    return std::ranges::find(fused.intermediates, name, &iris::Intermediate::name)->symmetric;
  };
  EXPECT_TRUE(on_heap("product")) << "other ranks sum it";
  EXPECT_FALSE(on_heap("matmul_padded_a"));
}

TEST(Padded, CountsTheWorkspaceOfItsParts) {
  const auto terms = [](const std::string& variant, int k) {
    return product("variant: " + variant +
                   ", dtype: bf16, layout: {b: nk}, config: {parts: 3, tile_m: 128, tile_n: "
                   "128}, shape: {m: dynamic, n: 264, k: " +
                   std::to_string(k) + "}")
        .kernels.back()
        .workspace.terms;
  };
  EXPECT_FALSE(terms("padded", 4097).empty());
  EXPECT_EQ(terms("padded", 4097), terms("split_k", 4160));
}

}  // namespace
}  // namespace irisgen::padded_test
