#include "generator/cli/calibration.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/machine.hpp"
#include "generator/cli/measuring.hpp"
#include "generator/cli/terminal.hpp"
#include "iris/bench.hpp"
#include "iris/tuning.hpp"
#include "irisgen/calibration.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Reading> measure(const std::vector<Probe>& probes, const Target& target, int batches) {
  iris::BenchOptions options;
  options.batches = batches;
  std::vector<Reading> readings;
  Progress progress;
  for (const Probe& probe : probes) {
    progress.show(std::string(probe.rate.name) + ": probe " + std::to_string(readings.size() + 1) + " of " +
                  std::to_string(probes.size()));
    const iris::BenchReport report = iris::bench_operation(probe.kernel, probe.world, target, options);
    if (report.ranks_per_device > 1) {
      throw std::runtime_error("ranks that share a GPU run as no others do, and there are fewer GPUs than " +
                               std::to_string(probe.world) + "; calibrate with fewer ranks (--world)");
    }
    readings.push_back({probe, report.points.front().time_us});
  }
  return readings;
}

std::string words_of(const Probe& probe) {
  const KernelSpec& kernel = probe.kernel;
  return kernel.problem.pattern + " " + kernel.variant + ", " + std::to_string(probe.world) +
         (probe.world == 1 ? " rank, n = " : " ranks, n = ") + std::to_string(kernel.problem.extent("n").value);
}

void print_tables(const Target& target, const MachineRates& machine, std::span<const Reading> readings) {
  std::cout << heading(machine.device) << ": " << machine.world << " ranks, " << machine.driver << '\n';
  Table rates({"rate", "with irisgen", "measured here"});
  for (const RateField& field : rate_fields) {
    rates.add({std::string(field.name), number(target.rates.*field.value), number(machine.rates.*field.value)});
  }
  rates.print(std::cout);
  std::cout << '\n';
  Table times({"probe of", "kernel", "median us", "predicted with irisgen", "by these rates"});
  for (const Reading& reading : readings) {
    times.add({std::string(reading.probe.rate.name), words_of(reading.probe), number(reading.time_us),
               number(predicted_us(reading.probe, target, target.rates)),
               number(predicted_us(reading.probe, target, machine.rates))});
  }
  times.print(std::cout);
}

Json to_json(const Target& target, const MachineRates& machine, std::span<const Reading> readings) {
  Json json = {{"target", machine.target}, {"device", machine.device}, {"driver", machine.driver},
               {"world", machine.world},   {"rates", Json::object()},  {"readings", Json::array()}};
  for (const RateField& field : rate_fields) {
    json["rates"][std::string(field.name)] = {{"with_irisgen", target.rates.*field.value},
                                              {"measured", machine.rates.*field.value}};
  }
  for (const Reading& reading : readings) {
    const KernelSpec& kernel = reading.probe.kernel;
    json["readings"].push_back({{"rate", reading.probe.rate.name},
                                {"pattern", kernel.problem.pattern},
                                {"variant", kernel.variant},
                                {"world", reading.probe.world},
                                {"n", kernel.problem.extent("n").value},
                                {"time_us", reading.time_us},
                                {"predicted_with_irisgen_us", predicted_us(reading.probe, target, target.rates)},
                                {"predicted_us", predicted_us(reading.probe, target, machine.rates)}});
  }
  return json;
}

}  // namespace

ExitCode calibrate(const CalibrationCommand& command) {
  const Target& target = measured_target(command.target);
  const std::filesystem::path file = command.table.empty() ? iris::user_tuning_file() : command.table;
  if (file.empty()) throw UsageError("--calibrate: no place for a table; name one with --table");
  iris::read_tuning(file);  // what is wrong with it is better known before the measurement
  const int world = command.world != 0 ? command.world : devices_of(survey_machine(), target);
  std::vector<Probe> probes;
  try {
    probes = calibration_probes(target, world);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--calibrate: ") + error.what());
  }
  const std::vector<Reading> readings = measure(probes, target, command.batches);
  const MachineRates machine = {.target = std::string(target.name),
                                .device = device_of(target),
                                .driver = iris::survey_gpus().api,
                                .world = world,
                                .rates = fit_rates(target, readings)};
  iris::add_rates(file, machine);
  if (command.json) {
    print_json(to_json(target, machine, readings));
  } else {
    print_tables(target, machine, readings);
    std::cout << "\nwritten to " << file.string() << '\n';
  }
  return ok;
}

}  // namespace irisgen::cli
