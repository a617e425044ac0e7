#include "irisgen/explain.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/generator/samples.hpp"

namespace irisgen::explain_test {
namespace {

constexpr const char* gradient_sum =
    "{name: gradient_sum, pattern: all_reduce, variant: one_shot, dtype: f32, world: 8, shape: {n: 85002}}";

TEST(Explain, GivesEveryChoiceWithItsReason) {
  for (const std::string& kernel : kernels_of_every_template()) {
    const Plan plan = plan_of(kernel, "sm_90a");
    const std::string text = explain(plan);
    const auto expect_row = [&](const std::string& name, const std::string& reason) {
      EXPECT_NE(text.find("  " + name + " "), std::string::npos) << name << " in:\n" << text;
      EXPECT_NE(text.find(reason), std::string::npos) << name << " in:\n" << text;
    };
    for (const Choice& choice : plan.choices) {
      EXPECT_FALSE(choice.reason.empty()) << kernel << ": " << choice.name;
      expect_row(choice.name, choice.reason);
    }
    for (const KernelPlan& each : plan.kernels) {
      for (const Constant& constant : each.constants) {
        if (!constant.reason.empty()) expect_row(constant.name, constant.reason);
      }
    }
    for (const iris::Argument& argument : plan.arguments) expect_row(argument.name, "");
    for (const iris::Intermediate& buffer : plan.intermediates) expect_row(buffer.name, "");
    const bool knows_bytes = text.find("sent by the busiest rank in a launch") != std::string::npos;
    EXPECT_EQ(knows_bytes, plan.problem.is_static()) << kernel;
    const bool predicts = text.find("µs a launch; the floor is") != std::string::npos;
    EXPECT_EQ(predicts, plan.problem.is_static()) << kernel;
  }
}

TEST(Explain, TellsTheStepsOfAnOperationOfSeveral) {
  const std::string copies = explain(
      plan_of("{name: a, pattern: all_gather, variant: copy_engine, dtype: f16, world: 3, shape: {n: 8}}", "sm_90a"));
  EXPECT_NE(copies.find("  steps\n"
                        "    launch barrier()\n"
                        "    stream 1: wait for stream 0\n"
                        "    stream 1: launch own_shard(input, output)\n"
                        "    copy input to rank + 1's output\n"
                        "    copy input to rank + 2's output\n"
                        "    wait for stream 1\n"
                        "    launch barrier()\n"),
            std::string::npos)
      << copies;
  const std::string by_size =
      explain(plan_of("{name: a, pattern: all_reduce, dtype: f16, world: 8, shape: {n: dynamic}}", "sm_90a"));
  EXPECT_NE(by_size.find("  steps up to 12800 elements\n"), std::string::npos) << by_size;
  EXPECT_NE(by_size.find("  steps of any larger size\n    launch workgroup_specialized(input, output)\n"),
            std::string::npos)
      << by_size;
  const std::string by_rows = explain(
      plan_of("{name: a, pattern: matmul, variant: tiled, dtype: f16, world: 1, shape: {m: 8, n: dynamic, k: dynamic}}",
              "sm_90a"));
  EXPECT_NE(by_rows.find("  steps where n is a multiple of 8 and k is a multiple of 8\n"
                         "    launch whole_rows(a, b, output)\n"
                         "\n"
                         "  steps of all others\n"
                         "    launch any_rows(a, b, output)\n"),
            std::string::npos)
      << by_rows;
  EXPECT_NE(by_rows.find("  variant  tiled      set in the description\n"), std::string::npos) << by_rows;
}

TEST(Explain, SaysWhatIsNotDeterministic) {
  const auto says = [](const std::string& variant) {
    const Plan plan = plan_of(
        "{name: a, pattern: all_reduce, variant: " + variant + ", dtype: f32, world: 8, shape: {n: 8}}", "host");
    const bool in_words = explain(plan).find("reduces in the order of arrival") != std::string::npos;
    EXPECT_EQ(nlohmann::json::parse(explain_json(plan)).at("deterministic"), !in_words);
    return in_words;
  };
  EXPECT_TRUE(says("atomic"));
  EXPECT_TRUE(says("spinlock"));
  EXPECT_FALSE(says("ring"));
}

TEST(Explain, PredictsNoTimeForTheCpu) {
  const Plan plan = plan_of(gradient_sum, "host");
  EXPECT_EQ(explain(plan).find(" a launch; the floor is"), std::string::npos);
  EXPECT_EQ(plan.prediction.time_us, 0);
}

TEST(Explain, ShowsSizesWithUnits) {
  Plan plan = plan_of(gradient_sum, "sm_90a");
  plan.kernels[0].workspace = {{{1'234'567, {}}}};
  plan.prediction = {.link_bytes = 999, .floor_us = 1.234, .time_us = 123.4, .basis = ""};
  EXPECT_NE(explain(plan).find("1.2 MB"), std::string::npos);
  EXPECT_NE(explain(plan).find("999 B sent"), std::string::npos);
  EXPECT_NE(explain(plan).find("123 µs a launch; the floor is 1.23 µs"), std::string::npos) << explain(plan);
  plan.kernels[0].workspace = {{{256, {}}, {16, {"m", "n"}}}};
  EXPECT_NE(explain(plan).find("256 B + 16·m·n B"), std::string::npos) << explain(plan);
}

TEST(Explain, AlignsItsColumns) {
  Plan plan = plan_of(gradient_sum, "sm_90a");
  plan.choices = {{"a", "µ", "first"}, {"longer", "22", "second"}};
  plan.alternatives.clear();
  const std::string text = explain(plan);
  EXPECT_NE(text.find("\n  a       µ   first\n  longer  22  second\n"), std::string::npos) << text;
}

TEST(ExplainSideBySide, HasAColumnForEachTarget) {
  std::vector<Plan> plans;
  for (const char* target : {"host", "gfx942", "sm_90a"}) plans.push_back(plan_of(gradient_sum, target));
  plans[1].kernels[0].constants.push_back({"only_here", std::int64_t{77}, "", ""});
  const std::string text = explain_side_by_side(plans);
  const auto row = [&](const std::string& name) {
    const std::size_t start = text.find("\n  " + name + " ") + 1;
    std::string words;
    for (const char c : text.substr(start, text.find('\n', start) - start)) {
      if (c != ' ' || !words.ends_with(' ')) words += c;
    }
    return words;
  };
  EXPECT_NE(text.find(" host "), std::string::npos) << text;
  EXPECT_EQ(row("variant"), " variant one_shot one_shot one_shot") << text;
  EXPECT_EQ(row("threads"), " threads 32 512 512") << text;
  EXPECT_EQ(row("only_here"), " only_here - 77 -") << text;
}

TEST(ExplainJson, HoldsTheSamePlan) {
  const Plan plan = plan_of(gradient_sum, "sm_90a");
  const auto json = nlohmann::json::parse(explain_json(plan));
  EXPECT_EQ(json["kernels"][0]["symbol"], plan.kernels[0].symbol);
  EXPECT_EQ(json["kernels"][0]["constants"].size(), plan.kernels[0].constants.size());
  EXPECT_EQ(json["kernels"][0]["workspace"][0]["bytes"], plan.kernels[0].workspace.terms[0].bytes);
  EXPECT_EQ(json["choices"].size(), plan.choices.size());
  EXPECT_EQ(json["choices"][0]["reason"], plan.choices[0].reason);
  EXPECT_EQ(json["arguments"][0]["shape"], "(85002)");
  EXPECT_EQ(json["alternatives"].size(), plan.alternatives.size());
  EXPECT_EQ(json["schedules"][0]["steps"][0], "launch the kernel(input, output)");
  EXPECT_EQ(json["prediction"]["time_us"], plan.prediction.time_us);
  EXPECT_EQ(json["in_place"], "same_buffer");
}

}  // namespace
}  // namespace irisgen::explain_test
