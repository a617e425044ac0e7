// A user's tuning table as a file, and whom it serves.
#include "iris/tuning.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "iris/tune.hpp"
#include "irisgen/diagnostic.hpp"
#include "variable.hpp"

namespace iris::tuning_test {
namespace {

irisgen::TuningEntry entry_of(std::int64_t n, const std::string& variant = "ring") {
  return {.problem = {.pattern = "all_reduce",
                      .op = Op::sum,
                      .world = 2,
                      .extents = {{"m", {.value = 1}}, {"n", {.value = n}}}},
          .target = "sm_90a",
          .device = "NVIDIA H200",
          .variant = variant,
          .time_us = 1,
          .untuned_us = 1,
          .measured = 1};
}

TEST(UserTuning, IsWhereTheEnvironmentSays) {
  const test::Variable own("IRISGEN_TUNING", nullptr);
  const test::Variable configured("XDG_CONFIG_HOME", nullptr);
  const test::Variable home("HOME", "/home/someone");
  EXPECT_EQ(user_tuning_file(), "/home/someone/.config/irisgen/tuning.json");
  {
    const test::Variable other("XDG_CONFIG_HOME", "/configured");
    EXPECT_EQ(user_tuning_file(), "/configured/irisgen/tuning.json");
    const test::Variable named("IRISGEN_TUNING", "/tables/mine.json");
    EXPECT_EQ(user_tuning_file(), "/tables/mine.json");
  }
  const test::Variable nowhere("HOME", nullptr);
  EXPECT_EQ(user_tuning_file(), "");
}

class TuningFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "irisgen-tuning-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "made" / "tuning.json"; }

 private:
  std::filesystem::path folder_;
};

TEST_F(TuningFile, KeepsRatesBesideEntries) {
  add_tuning(file(), entry_of(1));
  irisgen::MachineRates machine = {.target = "sm_90a", .device = "NVIDIA H200", .world = 2};
  for (const irisgen::RateField& field : irisgen::rate_fields) machine.rates.*field.value = 7;
  add_rates(file(), machine);
  machine.rates.link_gbs = 8;
  add_rates(file(), machine);
  add_tuning(file(), entry_of(2));
  const irisgen::TuningTable table = read_tuning(file());
  EXPECT_EQ(table.entries.size(), 2u);
  ASSERT_EQ(table.machines.size(), 1u);
  EXPECT_EQ(table.machines[0].rates, machine.rates);
}

TEST_F(TuningFile, IsMadeWithItsFolderAndGrows) {
  EXPECT_TRUE(read_tuning(file()).entries.empty());
  add_tuning(file(), entry_of(100));
  add_tuning(file(), entry_of(200));
  add_tuning(file(), entry_of(100, "two_shot"));
  const irisgen::TuningTable table = read_tuning(file());
  ASSERT_EQ(table.entries.size(), 2U);
  EXPECT_EQ(table.entries[0].variant, "two_shot");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(file().parent_path()))
    left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{"tuning.json"}) << "no lock and nothing unfinished";
}

TEST_F(TuningFile, KeepsWhatWasSearchedToTheEnd) {
  irisgen::TuningEntry half = entry_of(100, "two_shot");
  half.complete = false;
  add_tuning(file(), entry_of(100));
  add_tuning(file(), half);
  EXPECT_EQ(read_tuning(file()).entries.at(0).variant, "ring");
  half.driver = "a newer one";
  add_tuning(file(), half);
  EXPECT_EQ(read_tuning(file()).entries.at(0).variant, "two_shot");
}

TEST_F(TuningFile, OutOfReachIsAnErrorOfWhoNamesItOnly) {
  std::filesystem::create_directories(file().parent_path());
  const std::string far = file().string() + std::string(300, 'x');  // no name may be so long
  const test::Variable own("IRISGEN_TUNING", far.c_str());
  EXPECT_EQ(tuning_of_user().size(), 1U) << "that which is shipped";
  EXPECT_THROW(read_tuning(far), std::runtime_error);
}

TEST_F(TuningFile, LosesNothingWhereManyAddToIt) {
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 8; ++writer) {
      writers.emplace_back([&, writer] {
        for (int i = 0; i < 5; ++i) add_tuning(file(), entry_of(1000 * writer + i));
      });
    }
  }
  EXPECT_EQ(read_tuning(file()).entries.size(), 40U);
}

TEST_F(TuningFile, ThatIsWrongIsAnErrorAndStaysAsItIs) {
  std::filesystem::create_directories(file().parent_path());
  std::ofstream(file()) << "{\"irisgen_tuning\": 1, \"entries\": [{\"pattern\": 5}]}\n";
  EXPECT_THROW(add_tuning(file(), entry_of(100)), irisgen::SpecError);
  std::ifstream kept(file());
  std::string line;
  std::getline(kept, line);
  EXPECT_EQ(line, "{\"irisgen_tuning\": 1, \"entries\": [{\"pattern\": 5}]}");
}

TEST_F(TuningFile, OfTheUserComesBeforeThatWhichIsShipped) {
  const test::Variable own("IRISGEN_TUNING", file().c_str());
  EXPECT_EQ(tuning_of_user().size(), 1U);
  add_tuning(file(), entry_of(100));
  EXPECT_EQ(tuning_of_user()[0].entries.size(), 1U);
  EXPECT_EQ(tuning_of_user()[1].entries.size(), irisgen::shipped_tuning().entries.size());
}

TEST(Tune, RefusesTheCpu) {
  irisgen::KernelSpec kernel;
  kernel.name = "a";
  kernel.problem = entry_of(100).problem;
  EXPECT_THROW(tune_operation(kernel, 2, *irisgen::find_target("host")), std::invalid_argument);
}

}  // namespace
}  // namespace iris::tuning_test
