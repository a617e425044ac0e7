#include "irisgen/tuning_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/generator/samples.hpp"

namespace irisgen::tuning_space_test {
namespace {

constexpr const char* small_sum = "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: 4096}}";

std::vector<TuningCandidate> candidates_of(const std::string& kernel, const std::string& target = "sm_90a") {
  const Spec spec = spec_of({kernel});
  return tuning_candidates(spec.kernels.at(0), spec.kernels.at(0).worlds.at(0), *find_target(target));
}

std::set<std::string> variants_of(const std::vector<TuningCandidate>& candidates) {
  std::set<std::string> names;
  for (const TuningCandidate& candidate : candidates) names.insert(candidate.variant);
  return names;
}

TEST(TuningSpace, HasThePlansOwnChoiceOfEveryVariantFirst) {
  for (const std::string& kernel : kernels_of_every_template()) {
    if (kernel.find("dynamic") != std::string::npos) continue;
    std::set<std::string> seen;
    for (const TuningCandidate& candidate : candidates_of(kernel, "gfx942")) {
      EXPECT_EQ(seen.insert(candidate.variant).second, candidate.config.empty()) << kernel;
      EXPECT_EQ(candidate.plan.variant, candidate.variant);
    }
    EXPECT_FALSE(seen.empty());
  }
}

TEST(TuningSpace, HasWhatAutoTakesBeforeAllElse) {
  const auto candidates = candidates_of(small_sum);
  EXPECT_EQ(candidates.front().variant, plan_of(small_sum, "sm_90a").variant);
  EXPECT_GE(variants_of(candidates).size(), 4u);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    EXPECT_TRUE(candidates[i].config.empty() || candidates[i].variant == candidates[i - 1].variant) << i;
  }
}

TEST(TuningSpace, VariesTheGridAroundThePlansOwn) {
  const auto candidates = candidates_of(
      "{name: a, pattern: all_reduce, variant: two_shot, dtype: bf16, world: 4, "
      "shape: {n: 16777216}}");
  EXPECT_EQ(variants_of(candidates), (std::set<std::string>{"two_shot"}));
  std::set<std::pair<std::int64_t, std::int64_t>> grids;
  for (const TuningCandidate& candidate : candidates) {
    EXPECT_TRUE(
        grids.insert({candidate.plan.kernels[0].number("blocks"), candidate.plan.kernels[0].number("threads")}).second);
  }
  const auto own = *grids.begin();
  EXPECT_GT(grids.size(), 6u);
  EXPECT_TRUE(std::ranges::any_of(grids, [&](const auto& grid) { return grid.first != own.first; }));
  EXPECT_TRUE(std::ranges::any_of(grids, [&](const auto& grid) { return grid.second != own.second; }));
}

TEST(TuningSpace, IsOfTheProductRatherThanOfABarrierBesideIt) {
  bool varies = false;
  for (const TuningCandidate& candidate : candidates_of("{name: a, pattern: all_gather_matmul, "
                                                        "variant: producer_consumer, dtype: bf16, world: 4, "
                                                        "shape: {m: 8192, n: 1280, k: 8192}}")) {
    const auto blocks = candidate.config.find("blocks");
    if (blocks == candidate.config.end()) continue;
    varies = true;
    EXPECT_GT(blocks->second.value, 16);
  }
  EXPECT_TRUE(varies);
}

TEST(TuningSpace, IsOfTheProductRatherThanOfCopiesBeforeIt) {
  std::set<std::int64_t> grids;
  for (const TuningCandidate& candidate : candidates_of(
           "{name: a, pattern: matmul, variant: padded, dtype: bf16, world: 1, shape: {m: 4096, n: 4096, k: 4097}}")) {
    const auto blocks = candidate.config.find("blocks");
    if (blocks != candidate.config.end()) grids.insert(blocks->second.value);
  }
  ASSERT_FALSE(grids.empty());
  EXPECT_LE(*grids.rbegin(), 4 * 132) << "of an H200, which has 132 compute units";
}

TEST(TuningSpace, VariesTheBlocksOfACollectiveBesideAProduct) {
  for (const char* variant : {"bulk_synchronous", "producer_consumer"}) {
    std::set<std::int64_t> grids;
    std::int64_t own = 0;
    for (const TuningCandidate& candidate :
         candidates_of("{name: a, pattern: matmul_reduce_scatter, variant: " + std::string(variant) +
                       ", dtype: bf16, world: 4, shape: {m: 8192, n: 8192, k: 3584}}")) {
      const std::int64_t blocks = candidate.plan.kernels.back().number("blocks");
      if (candidate.config.empty()) own = blocks;
      const auto wanted = candidate.config.find("comm_blocks");
      if (wanted == candidate.config.end()) continue;
      EXPECT_EQ(blocks, wanted->second.value) << variant;
      grids.insert(blocks);
    }
    EXPECT_EQ(grids, (std::set<std::int64_t>{own / 4, own / 2, 2 * own, 4 * own})) << variant;
  }
}

TEST(TuningSpace, IsWhatTheDescriptionAsksFor) {
  const auto candidates = candidates_of(
      "{name: a, pattern: all_reduce, variant: two_shot, dtype: bf16, world: 4, "
      "shape: {n: 16777216}, tune: {blocks: [3, 5], threads: [64, 128]}}");
  std::set<std::pair<std::int64_t, std::int64_t>> grids;
  for (const TuningCandidate& candidate : candidates) {
    if (candidate.config.empty()) continue;
    grids.insert({candidate.plan.kernels[0].number("blocks"), candidate.plan.kernels[0].number("threads")});
  }
  EXPECT_EQ(grids, (std::set<std::pair<std::int64_t, std::int64_t>>{{3, 64}, {3, 128}, {5, 64}, {5, 128}}));
}

TEST(TuningSpace, RefusesAKeyThatNoVariantUses) {
  const auto refused = [](const std::string& more) {
    try {
      candidates_of("{name: a, pattern: all_reduce, dtype: bf16, world: 4, shape: {n: 16777216}, " + more + "}");
      return std::string();
    } catch (const SpecError& error) {
      return error.report().diagnostics().front().message;
    }
  };
  EXPECT_EQ(refused("tune: {chunk: [1024]}"), "") << "ring does";
  EXPECT_EQ(refused("tune: {tile_m: [64]}"),
            "'tile_m' is nothing to tune in all_reduce: no variant of it uses it; remove it");
  EXPECT_EQ(refused("variant: two_shot, tune: {chunk: [1024]}"),
            "'chunk' is nothing to tune in all_reduce: two_shot does not use it; remove it");
}

TEST(TuningSpace, LeavesWhatTheDescriptionSets) {
  for (const TuningCandidate& candidate :
       candidates_of("{name: a, pattern: all_reduce, dtype: bf16, world: 4, shape: {n: 16777216}, "
                     "config: {threads: 128}}")) {
    EXPECT_EQ(candidate.plan.kernels[0].number("threads"), 128);
  }
}

TEST(TuningSpace, IsRefusedWhereNoVariantCan) {
  EXPECT_THROW(candidates_of("{name: a, pattern: all_reduce, variant: reduce_scatter_all_gather, dtype: f32, world: 4, "
                             "shape: {n: 7}}"),
               SpecError);
}

TEST(VerificationProblem, IsSmallAndDividedAlike) {
  const auto verified = [](const std::string& kernel) {
    return verification_problem(plan_of(kernel, "sm_90a").problem);
  };
  const Problem sum = verified("{name: a, pattern: all_reduce, dtype: bf16, world: 4, shape: {m: 3, n: 536870917}}");
  EXPECT_EQ(sum.extent("m").value, 3);
  EXPECT_LT(sum.extent("n").value, 100'000);
  EXPECT_EQ(sum.extent("n").value % 128, 536870917 % 128);
  const Problem product =
      verified("{name: a, pattern: matmul_reduce_scatter, dtype: bf16, world: 4, shape: {m: 8192, n: 7170, k: 4100}}");
  for (const auto& [name, extent] : product.extents) EXPECT_LT(extent.value, 400) << name;
  EXPECT_EQ(product.extent("m").value % 128, 0);
  EXPECT_EQ(product.extent("n").value % 128, 7170 % 128);
  EXPECT_EQ(product.extent("k").value % 64, 4100 % 64);
}

TEST(VerificationPlan, HasTheGridThatIsMeasured) {
  const std::string kernel =
      "{name: a, pattern: all_reduce, variant: two_shot, dtype: bf16, world: 4, shape: {n: 268435456}}";
  const Spec spec = spec_of({kernel});
  const TuningCandidate own = candidates_of(kernel).front();
  const Plan verified = verification_plan(spec.kernels.at(0), 4, *find_target("sm_90a"), own);
  EXPECT_LT(iris::size_of(verified.problem), 1 << 20);
  for (const char* name : {"blocks", "threads", "vector"}) {
    EXPECT_EQ(verified.kernels.at(0).number(name), own.plan.kernels.at(0).number(name)) << name;
  }
}

TEST(VerificationPlan, HasTheTilesAndPartsThatAreMeasured) {
  const std::string kernel =
      "{name: a, pattern: matmul, variant: split_k, dtype: bf16, layout: {b: nk}, world: 1, "
      "shape: {m: 4096, n: 1280, k: 8192}}";
  const Spec spec = spec_of({kernel});
  const TuningCandidate own = candidates_of(kernel).front();
  const Plan verified = verification_plan(spec.kernels.at(0), 1, *find_target("sm_90a"), own);
  EXPECT_LT(iris::size_of(verified.problem), iris::size_of(own.plan.problem) / 1000);
  for (const char* name : {"blocks", "tile_m", "tile_n", "parts"}) {
    EXPECT_EQ(verified.kernels.at(0).number(name), own.plan.kernels.at(0).number(name)) << name;
  }
}

/// Of a small problem the Plan would take other parts.
TEST(VerificationPlan, IsOfTheKernelsThatAreMeasured) {
  const auto templates_of = [](const Plan& plan) {
    std::vector<std::string> templates;
    for (const KernelPlan& kernel : plan.kernels) templates.push_back(kernel.template_path);
    return templates;
  };
  const std::string shape = "dtype: bf16, world: 4, shape: {m: 8192, n: 8192, k: 3584}}";
  for (const std::string& kernel : {"{name: a, pattern: matmul_reduce_scatter, variant: bulk_synchronous, " + shape,
                                    "{name: a, pattern: matmul_reduce_scatter, variant: producer_consumer, " + shape,
                                    "{name: a, pattern: matmul_all_reduce, variant: bulk_synchronous, " + shape,
                                    "{name: a, pattern: all_gather_matmul, variant: bulk_synchronous, " + shape,
                                    "{name: a, pattern: matmul_all_gather, variant: bulk_synchronous, " + shape,
                                    std::string("{name: a, pattern: matmul, variant: padded, dtype: bf16, world: 4, "
                                                "shape: {m: 4096, n: 4096, k: 4097}}"),
                                    std::string("{name: a, pattern: all_reduce, variant: reduce_scatter_all_gather, "
                                                "dtype: bf16, world: 4, shape: {n: 268435456}}")}) {
    const Spec spec = spec_of({kernel});
    for (const char* target : {"sm_90a", "gfx942"}) {
      for (const TuningCandidate& candidate : tuning_candidates(spec.kernels.at(0), 4, *find_target(target))) {
        const Plan verified = verification_plan(spec.kernels.at(0), 4, *find_target(target), candidate);
        EXPECT_EQ(templates_of(verified), templates_of(candidate.plan)) << kernel << " on " << target;
        EXPECT_LT(iris::size_of(verified.problem), iris::size_of(candidate.plan.problem) / 50) << kernel << target;
      }
    }
  }
}

TEST(VerificationProblem, OfASmallProblemIsItself) {
  for (const std::string& kernel : kernels_of_every_template()) {
    const Problem problem = plan_of(kernel, "sm_90a").problem;
    if (problem.is_static() && iris::size_of(problem) < 1000) {
      EXPECT_EQ(verification_problem(problem), problem) << kernel;
    }
  }
}

}  // namespace
}  // namespace irisgen::tuning_space_test
