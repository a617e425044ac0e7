#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "generator/cli/files.hpp"
#include "generator/cli/machine.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/spec.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* list_footer = R"(Examples:
  irisgen list
  irisgen list --json | jq -r '.targets[] | select(.devices > 0).name'   targets that run here)";

template <typename Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  names.reserve(std::size(values));
  for (const auto value : values) names.emplace_back(to_string(value));
  return names;
}

Json to_json(const Pattern& pattern) {
  Json variants = Json::array();
  for (const Variant& variant : pattern.variants) {
    variants.push_back({{"name", variant.name},
                        {"summary", variant.summary},
                        {"config", std::vector<std::string>(variant.keys.begin(), variant.keys.end())},
                        {"deterministic", variant.deterministic}});
  }
  const PatternKeys& keys = keys_of(pattern.name);
  return {{"name", pattern.name},
          {"summary", pattern.summary},
          {"extents", keys.extents},
          {"op", keys.takes_op},
          {"root", keys.takes_root},
          {"shards", keys.shards},
          {"layouts", keys.takes_layout ? names_of(iris::all_layouts) : std::vector<std::string>{}},
          {"variants", std::move(variants)}};
}

Json to_json(const Target& target, const Machine& machine) {
  return {{"name", target.name},
          {"platform", to_string(target.platform)},
          {"description", target.description},
          {"compilers", compilers_of(machine, target)},
          {"devices", devices_of(machine, target)}};
}

void print_machine_json(const Machine& machine) {
  Json all = {{"patterns", Json::array()}, {"dtypes", names_of(iris::all_dtypes)}, {"ops", names_of(iris::all_ops)}};
  for (const Pattern* pattern : patterns()) all["patterns"].push_back(to_json(*pattern));
  all["targets"] = Json::array();
  for (const Target& target : targets()) all["targets"].push_back(to_json(target, machine));
  print_json(all);
}

void print_text(const Machine& machine) {
  std::cout << heading("Patterns and their variants") << '\n';
  Table pattern_table;
  for (const Pattern* pattern : patterns()) {
    pattern_table.add({std::string(pattern->name), std::string(pattern->summary)});
    for (const Variant& variant : pattern->variants) {
      pattern_table.add({"  " + std::string(variant.name), "  " + std::string(variant.summary)});
    }
  }
  pattern_table.print(std::cout);

  std::cout << '\n' << heading("Dtypes") << "  " << join(names_of(iris::all_dtypes), " ") << '\n';
  std::cout << heading("Ops") << "     " << join(names_of(iris::all_ops), " ") << "\n\n";

  std::cout << heading("Targets on this machine") << '\n';
  Table target_table({"target", "chip", "compiled by", "runs here"});
  for (const Target& target : targets()) {
    const auto compilers = compilers_of(machine, target);
    const int devices = devices_of(machine, target);
    std::string where = devices == 0 ? "no" : "yes";
    if (target.platform != Platform::host && devices > 0) where = std::to_string(devices) + " GPUs";
    target_table.add({std::string(target.name), std::string(target.description),
                      compilers.empty() ? "none (see irisgen doctor)" : join(compilers), where});
  }
  target_table.print(std::cout);
}

ExitCode list(bool json) {
  const Machine machine = survey_machine();
  json ? print_machine_json(machine) : print_text(machine);
  return ok;
}

}  // namespace

void add_list(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("list", "List patterns, variants, dtypes and targets");
  command->footer(list_footer);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, &action] { action = [json] { return list(*json); }; });
}

}  // namespace irisgen::cli
