#include "irisgen/explain.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

constexpr const char* gradient_sum =
    "{name: gradient_sum, pattern: all_reduce, variant: one_shot, dtype: f32, world: 8, shape: {n: 85002}}";

TEST(Explain, GivesEveryChoiceWithItsReason) {
  for (const std::string& kernel : kernels_of_every_template()) {
    const Plan plan = plan_of(kernel, "sm_90a");
    const std::string text = explain(plan);
    for (const Choice& choice : plan.choices) {
      EXPECT_NE(text.find(choice.reason), std::string::npos) << choice.name;
      EXPECT_NE(text.find("  " + choice.name + " "), std::string::npos) << choice.name;
      EXPECT_FALSE(choice.reason.empty()) << kernel << ": " << choice.name;
    }
    for (const Argument& argument : plan.arguments) {
      EXPECT_NE(text.find("  " + argument.name + " "), std::string::npos) << argument.name;
    }
    const bool knows_bytes = text.find("sent by the busiest rank in a launch") != std::string::npos;
    EXPECT_EQ(knows_bytes, plan.dynamic_extents.empty()) << kernel;
    const bool predicts = text.find("µs a launch; the floor is") != std::string::npos;
    EXPECT_EQ(predicts, plan.dynamic_extents.empty()) << kernel;
  }
}

TEST(Explain, PredictsNoTimeForTheCpu) {
  EXPECT_EQ(explain(plan_of(gradient_sum, "host")).find("µs"), std::string::npos);
}

TEST(Explain, ShowsSizesWithUnits) {
  Plan plan = plan_of(gradient_sum, "sm_90a");
  plan.workspace = {.fixed = 1'234'567, .scale = 0, .extents = ""};
  plan.prediction = {.link_bytes = 999, .floor_us = 1.234, .time_us = 123.4, .basis = ""};
  EXPECT_NE(explain(plan).find("1.2 MB"), std::string::npos);
  EXPECT_NE(explain(plan).find("999 B sent"), std::string::npos);
  EXPECT_NE(explain(plan).find("123 µs a launch; the floor is 1.23 µs"), std::string::npos) << explain(plan);
  plan.workspace = {.fixed = 256, .scale = 16, .extents = "mn"};
  EXPECT_NE(explain(plan).find("256 B + 16·m·n B"), std::string::npos) << explain(plan);
}

TEST(Explain, AlignsItsColumns) {
  Plan plan = plan_of(gradient_sum, "sm_90a");
  plan.choices = {{"a", "µ", "first"}, {"longer", "22", "second"}};
  const std::string text = explain(plan);
  EXPECT_NE(text.find("\n  a       µ   first\n  longer  22  second\n"), std::string::npos) << text;
}

TEST(ExplainJson, HoldsTheSamePlan) {
  const Plan plan = plan_of(gradient_sum, "sm_90a");
  const auto json = nlohmann::json::parse(explain_json(plan));
  EXPECT_EQ(json["symbol"], plan.symbol);
  EXPECT_EQ(json["blocks"], plan.blocks);
  EXPECT_EQ(json["choices"].size(), plan.choices.size());
  EXPECT_EQ(json["choices"][0]["reason"], plan.choices[0].reason);
  EXPECT_EQ(json["arguments"][0]["shape"], "(85002)");
  EXPECT_EQ(json["prediction"]["time_us"], plan.prediction.time_us);
  EXPECT_EQ(json["workspace"]["fixed"], plan.workspace.fixed);
}

}  // namespace
}  // namespace irisgen
