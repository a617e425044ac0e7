#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "generator/plan/patterns/reference.hpp"
#include "irisgen/diagnostic.hpp"
#include "irisgen/pattern.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

std::string kernel_text(const std::string& pattern, const std::string& rest) {
  return "{name: a, pattern: " + pattern + ", " + rest + "}";
}

KernelSpec kernel_of(const std::string& pattern, const std::string& rest) {
  return parse_spec("spec.yaml", "irisgen: 1\nkernels: [" + kernel_text(pattern, rest) + "]\n").kernels.at(0);
}

std::string refusal(const std::string& pattern, const std::string& rest, const std::string& target) {
  try {
    plan_of(kernel_text(pattern, rest), target);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "planned";
}

void expect_refused(const std::string& pattern, const std::string& rest, const std::string& target,
                    const std::string& words) {
  const std::string message = refusal(pattern, rest, target);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

const Choice& choice(const Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.choices, name, &Choice::name);
  if (found == plan.choices.end()) throw std::runtime_error("no choice " + std::string(name));
  return *found;
}

constexpr const char* vector_f32 = "dtype: f32, world: 8, shape: {n: 85002}";
constexpr const char* layer = "dtype: f32, world: 8, shape: {m: 1792, n: 32, k: 256}";

// --- the table

TEST(Patterns, AreFoundByName) {
  EXPECT_EQ(patterns().size(), 7u);
  for (const Pattern* pattern : patterns()) EXPECT_EQ(find_pattern(pattern->name), pattern);
  EXPECT_EQ(find_pattern("all_reduces"), nullptr);
}

TEST(Patterns, PlanEveryVariantDtypeAndWorldForEveryTarget) {
  for (const Pattern* pattern : patterns()) {
    const bool matmul = pattern->extents == "mnk";
    for (const Variant& variant : pattern->variants) {
      for (const char* dtype : {"f64", "f32", "f16", "bf16", "i32"}) {
        for (const int world : {1, 2, 3, 8}) {
          for (const Target& target : targets()) {
            const std::string shape = matmul ? "{m: 24, n: 7, k: 5}" : "{m: 3, n: 7}";
            const Plan plan = plan_of(
                kernel_text(std::string(pattern->name), "variant: " + std::string(variant.name) + ", dtype: " + dtype +
                                                            ", world: " + std::to_string(world) + ", shape: " + shape),
                std::string(target.name));
            EXPECT_EQ(plan.template_path, variant.template_path);
            EXPECT_GE(plan.flags, plan.world == 1 ? 1 : 2);
            EXPECT_EQ(plan.workspace.fixed % 512, 0);
            EXPECT_EQ(plan.threads % target.wave, 0);
            EXPECT_EQ(plan.arguments.back().access, Access::write);
          }
        }
      }
    }
  }
}

// --- rules

TEST(Rules, NameTheVariantsThatThereAre) {
  expect_refused("all_reduce", std::string(vector_f32) + ", variant: twoshot", "host",
                 "unknown variant 'twoshot' for all_reduce; did you mean 'two_shot'?");
}

TEST(Rules, RefuseConfigThatTheKernelDoesNotUse) {
  expect_refused("all_reduce", std::string(vector_f32) + ", config: {tile_m: 16}", "host",
                 "all_reduce does not use 'tile_m'; it uses blocks, threads, vector, timeout_ms");
  expect_refused("all_reduce", std::string(vector_f32) + ", variant: two_shot, config: {chunk: 64}", "host",
                 "all_reduce (two_shot) does not use 'chunk'");
  EXPECT_EQ(refusal("all_reduce", std::string(vector_f32) + ", variant: ring, config: {chunk: 64}", "host"), "planned");
}

TEST(Rules, WantRowsThatDivideAmongTheRanks) {
  expect_refused("all_gather_matmul", "dtype: f32, world: [2, 3], shape: {m: 100, n: 8, k: 8}", "host",
                 "m = 100 rows cannot be divided among 3 ranks; write 102, the next multiple");
  EXPECT_EQ(refusal("matmul_reduce_scatter", "dtype: f32, world: 3, shape: {m: dynamic, n: 8, k: 8}", "host"),
            "planned");
}

TEST(Rules, SumProductsOnly) {
  expect_refused("matmul_reduce_scatter", std::string(layer) + ", op: max", "host", "cannot reduce with 'max'");
}

// --- choices

TEST(AllReduce, TakesTheVariantOfTheLeastPredictedTime) {
  EXPECT_EQ(plan_of(kernel_text("all_reduce", "dtype: f32, world: 8, shape: {n: 256}"), "sm_90a").variant, "one_shot");
  const Plan large = plan_of(kernel_text("all_reduce", "dtype: f32, world: 8, shape: {n: 16777216}"), "sm_90a");
  EXPECT_EQ(large.variant, "two_shot");
  EXPECT_NE(choice(large, "variant").reason.find("one_shot 1401.7 µs"), std::string::npos)
      << choice(large, "variant").reason;
}

TEST(AllReduce, TakesTheFewestBytesWhereTheSizeIsUnknown) {
  EXPECT_EQ(plan_of(kernel_text("all_reduce", "dtype: f32, world: 8, shape: {n: dynamic}"), "gfx942").variant,
            "two_shot");
}

TEST(AllReduce, GoesBySizeAloneOnTheHost) {
  EXPECT_EQ(plan_of(kernel_text("all_reduce", "dtype: f32, world: 8, shape: {n: 16384}"), "host").variant, "one_shot");
  EXPECT_EQ(plan_of(kernel_text("all_reduce", "dtype: f32, world: 8, shape: {n: 16385}"), "host").variant, "two_shot");
}

TEST(AllReduce, PredictsTheBytesOfTheBusiestRank) {
  const auto bytes = [](const std::string& variant) {
    return plan_of(kernel_text("all_reduce", "dtype: f16, world: 8, shape: {n: 8000}, variant: " + variant), "gfx942")
        .prediction.link_bytes;
  };
  EXPECT_EQ(bytes("one_shot"), 7 * 16000);
  EXPECT_EQ(bytes("two_shot"), 2 * 7 * 16000 / 8);
  EXPECT_EQ(bytes("ring"), 8000 * 4 + 8000 * 2);
}

TEST(AllReduce, PredictsNothingWhereItCannot) {
  const Plan host = plan_of(kernel_text("all_reduce", vector_f32), "host");
  EXPECT_EQ(host.prediction.time_us, 0);
  EXPECT_EQ(host.prediction.basis, "host has no rates to predict from");
  const Plan dynamic = plan_of(kernel_text("all_gather", "dtype: f32, world: 8, shape: {n: dynamic}"), "sm_90a");
  EXPECT_EQ(dynamic.prediction.time_us, 0);
}

TEST(AllReduce, RingMovesPartialSumsInTheAccumulatorsWidth) {
  const Plan plan =
      plan_of(kernel_text("all_reduce", "dtype: f16, world: 3, shape: {n: 100}, variant: ring"), "gfx942");
  EXPECT_EQ(plan.substitutions.at("vector"), "4");  // 16 bytes of f32
  EXPECT_EQ(plan.flags, 2 * plan.blocks);
  EXPECT_EQ(plan.workspace.fixed, 2 * 512);  // 400 bytes, each half rounded up
}

TEST(Vector, IsAsWideAsRunsAllow) {
  const auto vector = [](const std::string& pattern, const std::string& shape) {
    return plan_of(kernel_text(pattern, "dtype: f32, world: 8, shape: " + shape), "host").substitutions.at("vector");
  };
  EXPECT_EQ(vector("all_reduce", "{n: 85002}"), "4");  // the tail is dealt one by one
  EXPECT_EQ(vector("all_gather", "{n: 85002}"), "2");  // segments must begin on a boundary
  EXPECT_EQ(vector("all_gather", "{m: 2, n: 85002}"), "4");
  EXPECT_EQ(vector("all_to_all", "{m: 2, n: 85002}"), "2");
  EXPECT_EQ(vector("all_to_all", "{n: 7}"), "1");
  EXPECT_EQ(vector("all_gather", "{n: dynamic}"), "4");
}

TEST(Vector, IsTheUsersWherePossibleAndRefusedElsewhere) {
  const Plan plan = plan_of(kernel_text("all_reduce", std::string(vector_f32) + ", config: {vector: 1}"), "host");
  EXPECT_EQ(plan.substitutions.at("vector"), "1");
  EXPECT_EQ(choice(plan, "vector").reason, "set in config");
  expect_refused("all_gather", std::string(vector_f32) + ", config: {vector: 4}", "host",
                 "a vector of 4 does not divide runs of 85002 elements, which would be unaligned; write 2 at most");
  expect_refused("all_reduce", "dtype: f16, world: 2, shape: {n: 8}, variant: ring, config: {vector: 8}", "host",
                 "a vector of 8 f32 is more than 16 bytes; write 4 at most");
}

TEST(Grid, KeepsWhatTheUserSetAndRefusesWhatCannotRun) {
  const Plan plan =
      plan_of(kernel_text("all_reduce", std::string(vector_f32) + ", config: {blocks: 7, threads: 192}"), "gfx942");
  EXPECT_EQ(plan.blocks, 7);
  EXPECT_EQ(plan.threads, 192);
  expect_refused("all_reduce", std::string(vector_f32) + ", config: {threads: 100}", "gfx942",
                 "threads must be from 64 to 1024, a multiple of 64");
  expect_refused("all_reduce", std::string(vector_f32) + ", config: {blocks: 1000, threads: 1024}", "sm_90a",
                 "1000 blocks of 1024 threads are not resident together; write from 1 to 132 blocks");
  EXPECT_EQ(refusal("all_reduce", std::string(vector_f32) + ", config: {threads: 100}", "host"), "planned");
}

/// As device/sync.hpp counts them: flag_of(block, rank). A flag too few would be a block's epoch.
TEST(Flags, AreOneForEachBlockAndRank) {
  const std::string rest = "dtype: f32, world: 5, shape: {n: 1000}, config: {blocks: 7}";
  for (const char* pattern : {"all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    EXPECT_EQ(plan_of(kernel_text(pattern, rest), "gfx942").flags, 35) << pattern;
  }
  for (const char* variant : {"one_shot", "two_shot"}) {
    EXPECT_EQ(plan_of(kernel_text("all_reduce", rest + ", variant: " + variant), "gfx942").flags, 35) << variant;
  }
}

TEST(Workspace, HoldsTwoHalvesOfASlotForEachRank) {
  const auto one_shot = [](const std::string& shape) {
    return plan_of(kernel_text("all_reduce", "dtype: f32, world: 3, variant: one_shot, shape: " + shape), "host")
        .workspace;
  };
  EXPECT_EQ(one_shot("{n: 100}").fixed, 2 * 1280);  // 3 slots of 400 bytes, rounded up to 256
  EXPECT_EQ(one_shot("{n: 0}").fixed, 0);
  const WorkspaceSize dynamic = one_shot("{m: 10, n: dynamic}");
  EXPECT_EQ(dynamic.extents, "n");
  EXPECT_EQ(dynamic.scale, 2 * 3 * 10 * 4);
  EXPECT_GE(dynamic.fixed, 2 * 3 * 12);  // each slot may be rounded up by three elements
}

TEST(Tiles, FitThreadsAndSharedMemory) {
  const auto config = [](const std::string& words) { return std::string(layer) + ", config: {" + words + "}"; };
  expect_refused("all_gather_matmul", config("tile_m: 16, tile_n: 24, threads: 64"), "gfx942",
                 "write powers of two for tile_m, tile_n and threads");
  expect_refused("all_gather_matmul", config("threads: 64, tile_m: 128"), "gfx942", "from 1 to 64 times as many");
  expect_refused("matmul_reduce_scatter", config("tile_k: 128"), "sm_90a", "bytes of shared memory");
  expect_refused("all_gather_matmul", config("comm_blocks: 4, blocks: 4"), "gfx942", "comm_blocks must be from 1 to 3");
  expect_refused("all_gather_matmul", config("tile_k: 3"), "host", "cut accesses of 16 bytes");
  EXPECT_EQ(refusal("all_gather_matmul", config("tile_m: 32, tile_n: 128, tile_k: 32"), "gfx942"), "planned");
}

TEST(Roles, AreOneBlockForEachTileOfASmallProblem) {
  const Plan plan = plan_of(kernel_text("all_gather_matmul", layer), "gfx942");
  EXPECT_EQ(plan.blocks, 16 + 8 * 4);  // 224 rows are 4 tiles on each of 8 ranks
  EXPECT_EQ(plan.flags, 16 * 8);
  const Plan scatter = plan_of(kernel_text("matmul_reduce_scatter", layer), "gfx942");
  EXPECT_EQ(scatter.flags, (scatter.blocks - 16) * 8);
}

// --- references, on examples done by hand

std::vector<Expectation> expected(const KernelSpec& kernel, int world, const Extents& extents,
                                  const std::vector<std::vector<Values>>& inputs) {
  return kernel.pattern->reference(kernel, world, extents, inputs);
}

TEST(Reference, AllReduceSumsAndBoundsTheError) {
  const KernelSpec kernel = kernel_of("all_reduce", "dtype: f32, world: 3, shape: {n: 2}");
  const auto result = expected(kernel, 3, {1, 2, 1}, {{{1, -2}}, {{10, 20}}, {{100, 200}}});
  ASSERT_EQ(result.size(), 3u);
  for (const Expectation& each : result) {
    EXPECT_EQ(each.value, (Values{111, 218}));
    EXPECT_NEAR(each.tolerance[0], 2 * 0x1p-23 * 111 + 0x1p-24 * 111, 1e-9);
    EXPECT_NEAR(each.tolerance[1], 2 * 0x1p-23 * 222 + 0x1p-24 * 218, 1e-9);
  }
}

TEST(Reference, AllReduceOfOneRankIsExact) {
  const KernelSpec kernel = kernel_of("all_reduce", "dtype: f64, world: 1, shape: {n: 1}");
  const auto result = expected(kernel, 1, {1, 1, 1}, {{{0.1}}});
  EXPECT_EQ(result[0].value, Values{0.1});
  EXPECT_EQ(result[0].tolerance, Values{0});
}

TEST(Reference, AllReduceInI32WrapsAround) {
  const std::vector<std::vector<Values>> inputs = {{{2147483647, 65536}}, {{1, 65537}}};
  const auto sum = expected(kernel_of("all_reduce", "dtype: i32, world: 2, shape: {n: 2}"), 2, {1, 2, 1}, inputs);
  EXPECT_EQ(sum[0].value, (Values{-2147483648.0, 131073}));
  const auto product =
      expected(kernel_of("all_reduce", "dtype: i32, op: prod, world: 2, shape: {n: 2}"), 2, {1, 2, 1}, inputs);
  EXPECT_EQ(product[0].value, (Values{2147483647, 65536}));
  EXPECT_EQ(product[0].tolerance, (Values{0, 0}));
}

TEST(Reference, MaxAndMinAreExactAndPassNansOn) {
  const double nan = std::nan("");
  const std::vector<std::vector<Values>> inputs = {{{1, nan, -3}}, {{2, 5, -4}}, {{0, 7, nan}}};
  const auto result =
      expected(kernel_of("all_reduce", "dtype: f32, op: max, world: 3, shape: {n: 3}"), 3, {1, 3, 1}, inputs);
  EXPECT_EQ(result[0].value[0], 2);
  EXPECT_TRUE(std::isnan(result[0].value[1]));
  EXPECT_TRUE(std::isnan(result[0].value[2]));
  EXPECT_EQ(result[0].tolerance, (Values{0, 0, 0}));
}

TEST(Reference, APartialSumThatOverflowsMayStayInfinite) {
  const KernelSpec kernel = kernel_of("all_reduce", "dtype: f32, world: 3, shape: {n: 2}");
  const auto result = expected(kernel, 3, {1, 2, 1}, {{{3e38, 1e38}}, {{3e38, 1e38}}, {{-3e38, -1e38}}});
  EXPECT_EQ(result[0].tolerance[0], std::numeric_limits<double>::infinity());
  EXPECT_LT(result[0].tolerance[1], 1e33);
}

TEST(Reference, F16OverflowsToInfinity) {
  const KernelSpec kernel = kernel_of("all_reduce", "dtype: f16, world: 2, shape: {n: 2}");
  const auto result = expected(kernel, 2, {1, 2, 1}, {{{-40000, 40000}}, {{-40000, 20000}}});
  EXPECT_EQ(result[0].value[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(result[0].value[1], 60000);
  EXPECT_LT(result[0].tolerance[1], 33);
}

TEST(Reference, AllGatherKeepsTheOrderOfRanks) {
  const KernelSpec kernel = kernel_of("all_gather", "dtype: f32, world: 2, shape: {n: 2}");
  const auto result = expected(kernel, 2, {1, 2, 1}, {{{1, 2}}, {{3, 4}}});
  EXPECT_EQ(result[1].value, (Values{1, 2, 3, 4}));
  EXPECT_EQ(result[1].tolerance, Values(4));
}

TEST(Reference, ReduceScatterGivesEachRankItsSegment) {
  const KernelSpec kernel = kernel_of("reduce_scatter", "dtype: f64, world: 2, shape: {m: 1, n: 2}");
  const auto result = expected(kernel, 2, {1, 2, 1}, {{{1, 2, 3, 4}}, {{10, 20, 30, 40}}});
  EXPECT_EQ(result[0].value, (Values{11, 22}));
  EXPECT_EQ(result[1].value, (Values{33, 44}));
}

TEST(Reference, AllToAllExchangesPiecesOfRows) {
  const KernelSpec kernel = kernel_of("all_to_all", "dtype: f32, world: 2, shape: {m: 2, n: 1}");
  const auto result = expected(kernel, 2, {2, 1, 1}, {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}});
  EXPECT_EQ(result[0].value, (Values{1, 5, 3, 7}));
  EXPECT_EQ(result[1].value, (Values{2, 6, 4, 8}));
}

TEST(Reference, BroadcastIsTheRoots) {
  const KernelSpec kernel = kernel_of("broadcast", "dtype: f32, world: 2, root: 1, shape: {n: 2}");
  EXPECT_EQ(expected(kernel, 2, {1, 2, 1}, {{{1, 2}}, {{3, 4}}})[0].value, (Values{3, 4}));
}

TEST(Reference, AllGatherMatmulUsesEachRanksOwnB) {
  const KernelSpec kernel = kernel_of("all_gather_matmul", "dtype: f32, world: 2, shape: {m: 2, n: 2, k: 2}");
  const std::vector<std::vector<Values>> inputs = {{{1, 2}, {1, 0, 0, 1}}, {{3, 4}, {1, 1, -1, 2}}};
  const auto result = expected(kernel, 2, {2, 2, 2}, inputs);
  EXPECT_EQ(result[0].value, (Values{1, 2, 3, 4}));
  EXPECT_EQ(result[1].value, (Values{-1, 5, -1, 11}));
  EXPECT_NEAR(result[1].tolerance[0], 2 * 0x1p-23 * 3 + 0x1p-24, 1e-9);  // |1| + |1 - 2| + |-1|
}

TEST(Reference, AllGatherMatmulOfNoDepthIsZero) {
  const KernelSpec kernel = kernel_of("all_gather_matmul", "dtype: f32, world: 1, shape: {m: 1, n: 2, k: 0}");
  EXPECT_EQ(expected(kernel, 1, {1, 2, 0}, {{{}, {}}})[0].value, (Values{0, 0}));
}

TEST(Reference, MatmulReduceScatterSumsOverRanks) {
  const KernelSpec kernel = kernel_of("matmul_reduce_scatter", "dtype: i32, world: 2, shape: {m: 2, n: 1, k: 2}");
  const std::vector<std::vector<Values>> inputs = {{{1, 2, 3, 4}, {10, 1}}, {{5, 6, 7, 65536}, {1, 65536}}};
  const auto result = expected(kernel, 2, {2, 1, 2}, inputs);
  EXPECT_EQ(result[0].value, Values{12 + 5 + 6 * 65536});
  EXPECT_EQ(result[1].value, Values{34 + 7});  // 2^32 is 0
}

TEST(Expect, AllowsHalfAUnitOfTheElementsType) {
  Expectation expectation;
  expect(expectation, Dtype::bf16, 1.0, 0);
  expect(expectation, Dtype::f16, 0.0, 0);
  expect(expectation, Dtype::f64, 3.0, 0.25);
  EXPECT_DOUBLE_EQ(expectation.tolerance[0], 0x1p-8);
  EXPECT_DOUBLE_EQ(expectation.tolerance[1], 0x1p-25);
  EXPECT_DOUBLE_EQ(expectation.tolerance[2], 0.25);
}

}  // namespace
}  // namespace irisgen
