#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "generator/cli/files.hpp"
#include "generator/cli/machine.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "iris/cache.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* doctor_footer =
    R"(Exit code 1 only if nothing can be compiled here at all; checking, explaining and generating always work.

Examples:
  irisgen doctor
  irisgen doctor --json | jq '.missing_compilers[].remedy')";

struct CacheState {
  std::string folder;
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
  std::string problem = {};  ///< why it is not used
};

CacheState cache_state() {
  CacheState state;
  state.folder = iris::Cache::user_folder().string();
  try {
    for (const iris::CacheEntry& entry : iris::Cache::of_user().list()) {
      ++state.entries;
      state.bytes += entry.bytes;
    }
  } catch (const std::runtime_error& error) {
    state.problem = error.what();
  }
  return state;
}

void print_compilers(const Machine& machine) {
  std::cout << heading("Compilers") << '\n';
  for (const auto& compiler : machine.compilers->present) {
    std::cout << "  " << compiler->name() << ": " << compiler->version() << "\n    for " << join(compiler->targets())
              << '\n';
  }
  for (const iris::MissingCompiler& compiler : machine.compilers->missing) {
    std::cout << "  " << compiler.name << ": missing, " << compiler.reason << "\n    " << compiler.remedy << '\n';
  }
}

void print_devices(const Machine& machine) {
  std::cout << heading("Devices") << '\n';
  std::cout << "  host: "
            << (machine.host_missing.empty() ? "kernels run on the CPU" : "missing, " + machine.host_missing) << '\n';
  if (machine.gpus.api.empty()) {
    std::cout << "  GPUs: none, " << machine.gpus.missing << '\n';
    return;
  }
  std::cout << "  GPUs through " << machine.gpus.api << '\n';
  for (const iris::DeviceInfo& gpu : machine.gpus.gpus) {
    std::cout << "    " << gpu.index << ": " << gpu.description << ", " << gpu.target << ", " << gpu.compute_units
              << " compute units, " << human_bytes(static_cast<double>(gpu.memory_bytes))
              << (find_target(gpu.target) ? "" : " (not a target of irisgen)") << '\n';
  }
}

void print_cache(const CacheState& cache) {
  if (!cache.problem.empty()) {
    std::cout << heading("Compiled kernels (cache)") << "\n  not used: " << cache.problem << '\n';
    return;
  }
  std::cout << heading("Compiled kernels (cache)") << "\n  " << cache_place() << ": " << cache.entries
            << (cache.entries == 1 ? " entry, " : " entries, ") << human_bytes(static_cast<double>(cache.bytes))
            << '\n';
}

void print_machine_json(const Machine& machine, const CacheState& cache) {
  Json json = {{"compilers", Json::array()}, {"missing_compilers", Json::array()}, {"gpus", Json::array()}};
  for (const auto& compiler : machine.compilers->present) {
    json["compilers"].push_back(
        {{"name", compiler->name()}, {"version", compiler->version()}, {"targets", compiler->targets()}});
  }
  for (const iris::MissingCompiler& compiler : machine.compilers->missing) {
    json["missing_compilers"].push_back(
        {{"name", compiler.name}, {"reason", compiler.reason}, {"remedy", compiler.remedy}});
  }
  for (const iris::DeviceInfo& gpu : machine.gpus.gpus) {
    json["gpus"].push_back({{"index", gpu.index},
                            {"description", gpu.description},
                            {"target", gpu.target},
                            {"compute_units", gpu.compute_units},
                            {"memory_bytes", gpu.memory_bytes}});
  }
  json["gpu_api"] = machine.gpus.api;
  json["gpus_missing"] = machine.gpus.missing;
  json["host_missing"] = machine.host_missing;
  json["cache"] = {
      {"folder", cache.folder}, {"entries", cache.entries}, {"bytes", cache.bytes}, {"problem", cache.problem}};
  print_json(json);
}

ExitCode doctor(bool json) {
  const Machine machine = survey_machine();
  const CacheState cache = cache_state();
  if (json) {
    print_machine_json(machine, cache);
  } else {
    print_compilers(machine);
    print_devices(machine);
    print_cache(cache);
  }
  return machine.compilers->present.empty() ? failed : ok;
}

}  // namespace

void add_doctor(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("doctor", "Tell what works here, what is missing and what brings it");
  command->footer(doctor_footer);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, &action] { action = [json] { return doctor(*json); }; });
}

}  // namespace irisgen::cli
