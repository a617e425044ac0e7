// Tuning tables on the command line, as far as no GPU is needed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "irisgen/tuning.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::tune_test {
namespace {

using nlohmann::json;

constexpr const char* sum = R"(irisgen: 1
kernels:
  - {name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 4096}}
)";

void measure(TuningTable& table, const std::string& target, const std::string& device, const std::string& variant) {
  table.set({.problem = {.pattern = "all_reduce", .world = 2, .extents = {{"m", {.value = 1}}, {"n", {.value = 4096}}}},
             .target = target,
             .device = device,
             .driver = "some driver",
             .variant = variant,
             .time_us = 1,
             .untuned_us = 1,
             .measured = 1});
}

/// A table that names a variant which no model would.
std::string ring_table(const std::string& target) {
  TuningTable table;
  measure(table, target, target == "host" ? "CPU (fibers)" : "some GPU", "ring");
  return to_json(table);
}

class Tuned : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder.file("spec.yaml"), sum);
    write_file(folder.file("gpu.json"), ring_table("sm_90a"));
    write_file(folder.file("cpu.json"), ring_table("host"));
  }
  std::string explained(const std::vector<std::string>& arguments, const std::string& own = "/nowhere.json") const {
    std::vector<std::string> all = {"explain", folder.file("spec.yaml"), "--target", "sm_90a", "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = irisgen(all, {.environment = {{"IRISGEN_TUNING", own}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out).at(0).at("variant");
  }
  TemporaryFolder folder;
};

TEST_F(Tuned, ExplainAsksTheTableThatItIsGiven) {
  EXPECT_EQ(explained({"--tuning", "none"}), "low_latency");
  EXPECT_EQ(explained({"--tuning", folder.file("gpu.json")}), "ring");
  EXPECT_EQ(explained({"--tuning", folder.file("cpu.json")}), "low_latency") << "of another target";
}

TEST_F(Tuned, ExplainAsksTheUsersOwnWhereToldTo) {
  EXPECT_EQ(explained({"--tuning", "auto"}, folder.file("gpu.json")), "ring");
  EXPECT_NE(explained({}, folder.file("gpu.json")), "ring") << "what is made depends on no one's home";
}

TEST_F(Tuned, RunAsksTheUsersOwn) {
  const auto variant = [&](const std::string& own, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run", folder.file("spec.yaml"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = irisgen(arguments, {.environment = {{"IRISGEN_TUNING", own}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out).at(0).at("variant").get<std::string>();
  };
  EXPECT_EQ(variant(folder.file("cpu.json")), "ring");
  EXPECT_NE(variant(folder.file("cpu.json"), {"--tuning", "none"}), "ring");
}

TEST_F(Tuned, GenerateTakesATableAndNamesItAmongWhatItDependsOn) {
  const Outcome outcome = irisgen({"generate", folder.file("spec.yaml"), "-o", folder.file("out"), "--target", "sm_90a",
                                   "--tuning", folder.file("gpu.json"), "--depfile", folder.file("deps")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(read_file(folder.file("out/sum.w2.sm_90a.json"))).at("variant"), "ring");
  EXPECT_NE(read_file(folder.file("deps")).find("gpu.json"), std::string::npos);
}

/// What is made for a GPU that this machine may not have asks what was measured on such ones.
TEST_F(Tuned, WhatIsMadeIsForTheDeviceThatIsNamed) {
  TuningTable table;
  for (const char* target : {"sm_90a", "host"}) {
    measure(table, target, "some GPU", "ring");
    measure(table, target, "another GPU", "two_shot");
  }
  write_file(folder.file("both.json"), to_json(table));
  const std::vector<std::string> tuning = {"--tuning", folder.file("both.json"), "--device"};
  const auto with = [&](std::vector<std::string> words, const std::string& device) {
    words.insert(words.end(), tuning.begin(), tuning.end());
    words.push_back(device);
    return words;
  };
  const std::string spec = folder.file("spec.yaml");
  for (const auto& [device, variant] : {std::pair{"some GPU", "ring"}, {"another GPU", "two_shot"}}) {
    EXPECT_EQ(explained(with({}, device)), variant);
    const std::string out = folder.file(variant);
    irisgen(with({"generate", spec, "-o", out, "--target", "sm_90a"}, device));
    EXPECT_EQ(json::parse(read_file(out + "/sum.w2.sm_90a.json")).at("variant"), variant);
    const Outcome compiled = irisgen(with({"compile", spec, "-o", out, "--target", "host", "--json"}, device));
    EXPECT_NE(compiled.out.find(variant), std::string::npos) << compiled.out << compiled.err;
  }
  const Outcome unknown = irisgen(with({"explain", spec, "--target", "sm_90a"}, "other GPU"));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--device: nothing was measured on 'other GPU'; did you mean 'another GPU'"),
            std::string::npos)
      << unknown.err;
}

TEST_F(Tuned, AWrongTableIsAnErrorWithItsPlace) {
  write_file(folder.file("bad.json"), "{\"irisgen_tuning\": 1,\n \"entries\": 7}\n");
  for (const Outcome& outcome :
       {irisgen({"run", folder.file("spec.yaml"), "--tuning", folder.file("bad.json")}),
        irisgen({"run", folder.file("spec.yaml")}, {.environment = {{"IRISGEN_TUNING", folder.file("bad.json")}}})}) {
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("bad.json:2:13: error: entries must be a list, not 7"), std::string::npos)
        << outcome.err;
  }
}

TEST_F(Tuned, TheModelIsShownForATargetThatIsNotHere) {
  const Outcome outcome = irisgen({"tune", folder.file("spec.yaml"), "--target", "gfx942", "--model", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("target"), "gfx942");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_GE(rows[i].at("predicted_us"), rows[i - 1].at("predicted_us")) << i;
  }
  const Outcome words = irisgen({"tune", folder.file("spec.yaml"), "--target", "gfx942", "--model"});
  EXPECT_NE(words.out.find("the vendor's rates, which were not measured"), std::string::npos) << words.out;
}

}  // namespace
}  // namespace irisgen::test::tune_test
