#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "irisgen/pattern.hpp"
#include "irisgen/tuning_space.hpp"
#include "tests/generator/samples.hpp"

// What variants ask of their problems, and what those that reduce in the order of arrival do.

namespace irisgen::all_reduce_test {
namespace {

TEST(AllReduce, TakesWhatIsNotDeterministicByNameOnly) {
  for (const char* variant : {"atomic", "spinlock"}) {
    EXPECT_FALSE(
        plan("all_reduce", "dtype: f32, world: 8, shape: {n: 1000}, variant: " + std::string(variant), "sm_90a")
            .deterministic);
  }
  for (const Pattern* pattern : patterns()) {
    for (const Variant& variant : pattern->variants) {
      EXPECT_EQ(variant.deterministic, variant.name != "atomic" && variant.name != "spinlock") << variant.name;
    }
  }
  const Plan dynamic = plan("all_reduce", "dtype: f32, world: 2, shape: {n: dynamic}", "gfx942");
  EXPECT_TRUE(dynamic.deterministic);
  for (const KernelPlan& kernel : dynamic.kernels) {
    EXPECT_TRUE(kernel.variant != "atomic" && kernel.variant != "spinlock") << kernel.variant;
  }
}

TEST(AllReduce, MeasuresWhatIsNotDeterministicByNameOnly) {
  const auto measured = [](const std::string& variant) {
    const Spec spec =
        spec_of({kernel_text("all_reduce", "dtype: f32, world: 4, shape: {n: 1000}, variant: " + variant)});
    std::set<std::string> variants;
    for (const auto& each : tuning_candidates(spec.kernels.at(0), 4, *find_target("sm_90a"))) {
      variants.insert(each.variant);
    }
    return variants;
  };
  EXPECT_EQ(measured("auto"), (std::set<std::string>{"one_shot", "low_latency", "low_latency_two_shot", "two_shot",
                                                     "workgroup_specialized", "reduce_scatter_all_gather", "ring"}));
  EXPECT_EQ(measured("atomic"), std::set<std::string>{"atomic"});
}

TEST(AllReduce, AtomicAddsOnlyWhatTheOutputCanHold) {
  const std::string rest = "variant: atomic, world: 2, shape: {n: 8}, ";
  for (const char* dtype : {"f32", "f64", "i32"}) expect_planned("all_reduce", rest + "dtype: " + dtype, "gfx90a");
  expect_refused("all_reduce", rest + "dtype: bf16", "gfx90a",
                 "atomic adds in the output, which is bf16 where sums are f32; take spinlock");
  expect_refused("all_reduce", rest + "dtype: f32, accumulate: f64", "gfx90a",
                 "atomic adds in the output, which is f32 where sums are f64; take spinlock");
  expect_refused("all_reduce", rest + "dtype: i32, op: max", "gfx90a", "atomic only sums; take spinlock");
  EXPECT_EQ(plan("all_reduce", rest + "dtype: f32", "gfx90a").in_place, iris::InPlace::no);
}

/// As a part of an operation whose sums are wider than its results.
TEST(AllReduce, PassesOnResultsInLinesOnlyWhereTheyAreAsLongAsElements) {
  Problem problem = plan("all_reduce", "dtype: bf16, world: 4, shape: {n: 8}", "sm_90a").problem;
  const auto& variants = find_pattern("all_reduce")->variants;
  const auto lines = std::ranges::find(variants, std::string_view("low_latency_two_shot"), &Variant::name);
  ASSERT_NE(lines, variants.end());
  problem.result = Dtype::f16;
  EXPECT_EQ(lines->refusal(problem, *find_target("sm_90a")), "");
  problem.result = Dtype::f32;
  EXPECT_EQ(
      lines->refusal(problem, *find_target("sm_90a")),
      "passes on results in lines of as many elements as the input's, but f32 is not as long as bf16; take two_shot");
}

TEST(AllReduce, SpinlockHasALockForEachBlockAndSumsInTheAccumulator) {
  const Plan plan = irisgen::plan("all_reduce", "dtype: f16, world: 3, shape: {n: 100}, variant: spinlock", "gfx942");
  const KernelPlan& kernel = plan.kernels.at(0);
  EXPECT_EQ(kernel.number("vector"), 4);                       // 16 bytes of f32
  EXPECT_EQ(kernel.flags, (3 + 2) * kernel.number("blocks"));  // of the barrier, and two for each lock
  EXPECT_EQ(kernel.workspace.terms, std::vector<iris::ByteSize::Term>({{2 * 512, {}}}));  // 400 bytes, rounded up
  EXPECT_EQ(plan.in_place, iris::InPlace::same_buffer);
}

}  // namespace
}  // namespace irisgen::all_reduce_test
