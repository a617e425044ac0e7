#include "irisgen/plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "irisgen/diagnostic.hpp"
#include "irisgen/pattern.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

std::string world_of(int world) {
  return "{name: a, pattern: all_reduce, dtype: f32, world: " + std::to_string(world) + ", shape: {n: 4096}}";
}

std::string message_of(const std::string& kernel, const std::string& target) {
  try {
    plan_of(kernel, target);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "planned";
}

TEST(MakePlan, NamesTheSpecialisationInTheSymbol) {
  EXPECT_EQ(plan_of("{name: gradient_sum, pattern: all_reduce, variant: two_shot, dtype: f32, world: 8, "
                    "shape: {n: 85002}}",
                    "gfx942")
                .symbol,
            "gradient_sum_two_shot_f32_sum_w8_n85002");
  EXPECT_EQ(plan_of("{name: g, pattern: all_gather, dtype: f16, world: 2, shape: {m: 3, n: dynamic}}", "host").symbol,
            "g_direct_f16_w2_m3_dynamic_n");
  EXPECT_EQ(
      plan_of("{name: p, pattern: all_gather_matmul, dtype: f32, world: 2, shape: {m: 32, n: 20, k: 50}}", "sm_90a")
          .symbol,
      "p_specialised_f32_w2_m32_n20_k50");
}

TEST(MakePlan, NamesTheFilesByKernelWorldAndTarget) {
  EXPECT_EQ(plan_of(world_of(8), "sm_90a").stem, "a.w8.sm_90a");
  EXPECT_EQ(plan_of(world_of(16), "host").stem, "a.w16.host");
}

TEST(MakePlan, RefusesAWorldThatTheTargetCannotHold) {
  EXPECT_EQ(message_of(world_of(8), "gfx942"), "planned");
  EXPECT_EQ(message_of(world_of(16), "host"), "planned");
  const std::string message = message_of(world_of(9), "gfx942");
  EXPECT_NE(message.find("a world of 9 ranks on gfx942; world must be from 1 to 8 there"), std::string::npos)
      << message;
}

TEST(MakePlan, BoundsRegistersSoThatTheWholeGridIsResident) {
  const auto residency = [](const char* dtype, const char* target, const std::string& config = "") {
    Plan plan = plan_of("{name: a, pattern: all_gather_matmul, dtype: " + std::string(dtype) +
                            ", world: 8, shape: {m: dynamic, n: dynamic, k: dynamic}" + config + "}",
                        target);
    return std::pair(plan.blocks, plan.substitutions.at("residency"));
  };
  EXPECT_EQ(residency("f32", "sm_90a"), std::pair(264, std::string("2")));
  // Sums in f64 take more registers than half a multiprocessor has.
  EXPECT_EQ(residency("f64", "sm_90a"), std::pair(132, std::string("1")));
  EXPECT_EQ(residency("f64", "sm_90a", ", config: {blocks: 200}"), std::pair(200, std::string("2")));
  EXPECT_EQ(residency("f64", "gfx942"), std::pair(608, std::string("2")));
  EXPECT_EQ(residency("f32", "host").second, "1");
  // On AMD it counts waves: 512 threads are two of each SIMD's.
  EXPECT_EQ(plan_of(world_of(2), "gfx942").substitutions.at("residency"), "2");
  EXPECT_EQ(plan_of(world_of(2), "sm_90a").substitutions.at("residency"), "1");
}

TEST(MakePlan, BoundsWaitsUnlessTheDescriptionSaysOtherwise) {
  EXPECT_EQ(plan_of(world_of(2), "host").timeout_ms, 10'000);
  EXPECT_EQ(
      plan_of("{name: a, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 5}, config: {timeout_ms: 250}}", "host")
          .timeout_ms,
      250);
}

TEST(MakePlan, PassesDynamicExtentsAsArgumentsInTheOrderOfTheShape) {
  const Plan plan =
      plan_of("{name: a, pattern: all_gather, dtype: f32, world: 2, shape: {n: dynamic, m: dynamic}}", "host");
  EXPECT_EQ(plan.dynamic_extents, (std::vector<char>{'m', 'n'}));
  EXPECT_EQ(plan.substitutions.at("extents"), ", i64 dynamic_m, i64 dynamic_n");
  EXPECT_EQ(plan.substitutions.at("n"), "dynamic_n");
}

TEST(MakePlan, FillsInEveryTemplateOnEveryTarget) {
  for (const std::string& kernel : kernels_of_every_template()) {
    for (const Target& target : targets()) {
      const Plan plan = plan_of(kernel, std::string(target.name));
      EXPECT_NE(plan.variant, "auto");
      EXPECT_GE(plan.blocks, 1);
      EXPECT_GE(plan.threads, 1);
      EXPECT_LE(plan.threads, target.max_threads);
      EXPECT_EQ(plan.threads % target.wave, 0) << kernel;
      EXPECT_FALSE(plan.choices.empty());
      EXPECT_FALSE(plan.arguments.empty());
      const bool predictable = target.platform != Platform::host && plan.dynamic_extents.empty();
      EXPECT_EQ(plan.prediction.time_us > 0, predictable) << kernel;
      EXPECT_GE(plan.prediction.time_us, plan.prediction.floor_us) << kernel;
    }
  }
}

TEST(MakePlan, CoversEveryPatternAndVariant) {
  std::set<std::string> planned;
  for (const std::string& kernel : kernels_of_every_template()) planned.insert(plan_of(kernel, "host").template_path);
  std::set<std::string> all;
  for (const Pattern* pattern : patterns()) {
    for (const Variant& variant : pattern->variants) all.insert(std::string(variant.template_path));
  }
  EXPECT_EQ(planned, all) << "kernels_of_every_template() in samples.hpp lacks one";
}

TEST(ShapeOf, MultipliesAndDivides) {
  const Argument argument{.name = "a",
                          .access = Access::read,
                          .dtype = Dtype::f32,
                          .shape = {{.extent = 'm', .divisor = 4}, {.extent = 'k'}, {.extent = 'n', .factor = 3}},
                          .symmetric = false,
                          .alignment = 16};
  EXPECT_EQ(shape_of(argument, 64, 5, 7'000'000'000), (std::vector<std::int64_t>{16, 7'000'000'000, 15}));
  EXPECT_EQ(shape_of(argument, 0, 0, 0), (std::vector<std::int64_t>{0, 0, 0}));
}

}  // namespace
}  // namespace irisgen
