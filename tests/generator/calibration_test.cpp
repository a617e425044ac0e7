#include "irisgen/calibration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "irisgen/plan.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::calibration_test {
namespace {

/// A machine unlike every target.
constexpr Rates truth = {.link_gbs = 171,
                         .neighbour_gbs = 93,
                         .memory_gbs = 2900,
                         .copy_engine_gbs = 61,
                         .copy_us = 3.1,
                         .signal_us = 2.9,
                         .line_us = 1.7,
                         .launch_us = 4.2};

std::vector<Reading> readings_of(const Target& target, int world, const Rates& rates) {
  std::vector<Reading> readings;
  for (const Probe& probe : calibration_probes(target, world)) {
    readings.push_back({probe, predicted_us(probe, target, rates)});
  }
  return readings;
}

TEST(Calibration, FindsTheRatesThatTimesWereMadeWith) {
  for (const char* name : {"sm_90a", "gfx942"}) {
    const Target& target = *find_target(name);
    for (const int world : {2, 3, 8}) {
      const Rates fitted = fit_rates(target, readings_of(target, world, truth));
      for (const RateField& field : rate_fields) {
        EXPECT_NEAR(fitted.*field.value / (truth.*field.value), 1, 0.005) << field.name << " of " << world;
      }
    }
  }
}

TEST(Calibration, ProbesEveryRate) {
  const std::vector<Probe> probes = calibration_probes(*find_target("sm_90a"), 2);
  for (const RateField& field : rate_fields) {
    EXPECT_TRUE(std::ranges::any_of(probes, [&](const Probe& probe) { return probe.rate.name == field.name; }))
        << field.name;
  }
}

TEST(Calibration, LeavesNoiseBetweenTheReadingsOfARate) {
  const Target& target = *find_target("sm_90a");
  std::vector<Reading> readings = readings_of(target, 2, truth);
  double sign = 1;
  for (Reading& reading : readings) reading.time_us *= 1 + (sign = -sign) * 0.05;
  const Rates fitted = fit_rates(target, readings);
  EXPECT_NEAR(fitted.link_gbs / truth.link_gbs, 1, 0.05);
  EXPECT_NEAR(fitted.signal_us / truth.signal_us, 1, 0.15);
}

TEST(Calibration, KeepsWhatNoReadingTells) {
  const Target& target = *find_target("sm_90a");
  std::vector<Reading> readings = readings_of(target, 2, truth);
  std::erase_if(readings, [](const Reading& reading) { return reading.probe.rate.name == "copy_us"; });
  EXPECT_EQ(fit_rates(target, readings).copy_us, target.rates.copy_us);
}

TEST(Calibration, NeedsRanksWithLinksAndTimes) {
  const Target& target = *find_target("sm_90a");
  EXPECT_THROW(calibration_probes(target, 1), std::invalid_argument);
  EXPECT_THROW(calibration_probes(target, target.max_world + 1), std::invalid_argument);
  std::vector<Reading> readings = readings_of(target, 2, truth);
  readings.back().time_us = 0;
  EXPECT_THROW(fit_rates(target, readings), std::invalid_argument);
}

// --- in a tuning table

constexpr const char* small_sum = "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: 4096}}";

MachineRates machine_of(int world, const std::string& device = "NVIDIA H200") {
  return {.target = "sm_90a", .device = device, .driver = "CUDA 13.0", .world = world, .rates = truth};
}

TuningTable table_of(const std::vector<MachineRates>& machines) {
  TuningTable table;
  for (const MachineRates& machine : machines) table.set(machine);
  return table;
}

Plan plan_with(const TuningTable& table, const std::string& device) {
  const Spec spec = spec_of({small_sum});
  return make_plan(spec.kernels.at(0), 8, *find_target("sm_90a"), {.tuning = {&table, 1}, .device = device});
}

TEST(MachineRates, AreWhatAPlanPredictsFrom) {
  const Plan shipped = plan_of(small_sum, "sm_90a");
  const Plan plan = plan_with(table_of({machine_of(8)}), "NVIDIA H200");
  EXPECT_EQ(plan.prediction.basis, "sm_90a: rates measured by 8 ranks on NVIDIA H200, CUDA 13.0");
  EXPECT_GT(plan.prediction.time_us, shipped.prediction.time_us);
  EXPECT_EQ(plan.target, find_target("sm_90a"));
  EXPECT_EQ(plan_with(table_of({machine_of(8)}), "").prediction.time_us, plan.prediction.time_us);
}

TEST(MachineRates, AreOfOneDeviceAndWorld) {
  const Plan shipped = plan_of(small_sum, "sm_90a");
  EXPECT_EQ(plan_with(table_of({machine_of(4)}), "NVIDIA H200").prediction.time_us, shipped.prediction.time_us);
  EXPECT_EQ(plan_with(table_of({machine_of(8)}), "NVIDIA H100").prediction.time_us, shipped.prediction.time_us);
  EXPECT_EQ(plan_with(table_of({machine_of(8)}), "NVIDIA H100").prediction.basis, shipped.prediction.basis);
}

TEST(MachineRates, AreReadAsTheyWereWritten) {
  TuningTable table = table_of({machine_of(8), machine_of(2, "NVIDIA H100"), machine_of(8)});
  ASSERT_EQ(table.machines.size(), 2u);
  const TuningTable read = parse_tuning("t.json", to_json(table));
  EXPECT_EQ(to_json(read), to_json(table));
  ASSERT_EQ(read.machines.size(), 2u);
  EXPECT_EQ(read.machines[1].device, "NVIDIA H100");
  EXPECT_EQ(read.machines[1].driver, "CUDA 13.0");
  EXPECT_EQ(read.machines[1].world, 2);
  EXPECT_EQ(read.machines[1].rates, truth);
}

TEST(MachineRates, MustBeAboveZero) {
  TuningTable table = table_of({machine_of(8)});
  table.machines[0].rates.link_gbs = 0;
  try {
    parse_tuning("t.json", to_json(table));
    FAIL() << "it was taken";
  } catch (const SpecError& error) {
    EXPECT_NE(std::string(error.what()).find("error: link_gbs must be above 0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace irisgen::calibration_test
