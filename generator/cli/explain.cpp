#include "irisgen/explain.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  std::string spec;
  std::string kernel;
  std::vector<std::string> targets = {"gfx942"};
  int world = 0;
  TuningOption tuning = TuningOption("shipped");
  DeviceOption device = {};
  bool json = false;
};

constexpr const char* explain_footer =
    R"(Bytes are those that the busiest rank sends over its links in a launch; the floor is the limit of links, memory or
arithmetic, whichever takes longest; the predicted time adds signals, launches and what does not overlap. Several targets
stand side by side, without reasons.

Examples:
  irisgen explain spec.yaml
  irisgen explain spec.yaml --target sm_90a --target host --kernel gradient_sum --world 8
  irisgen explain spec.yaml --json | jq '.[].prediction')";

/// Plans of one kernel and world stand together.
ExitCode explain_spec(const ExplainOptions& options) {
  const auto targets = targets_named(options.targets);
  const Spec spec = select(load_spec(options.spec, options.world), options.kernel);
  const std::vector<TuningTable> tables = options.tuning.tables();
  const std::vector<Plan> plans =
      plan_all(spec, targets, {.tuning = tables, .device = options.device.known_to(tables)});
  if (options.json) {
    Json all = Json::array();
    for (const Plan& plan : plans) all.push_back(Json::parse(explain_json(plan)));
    print_json(all);
    return ok;
  }
  for (std::size_t first = 0; first < plans.size(); first += targets.size()) {
    if (first > 0) std::cout << '\n';
    const std::span<const Plan> of_kernel(plans.data() + first, targets.size());
    std::cout << (targets.size() == 1 ? explain(of_kernel.front()) : explain_side_by_side(of_kernel));
  }
  return ok;
}

}  // namespace

void add_explain(CLI::App& program, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = program.add_subcommand("explain", "Show the Plan: each choice with its reason, bytes and time");
  command->footer(explain_footer);
  command->add_option("SPEC", options->spec, spec_help)->required();
  command->add_option("--target", options->targets, "Target to plan for (repeatable)")
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("--kernel", options->kernel, "Only this kernel");
  take_whole_number(command->add_option("--world", options->world, "Only this many ranks"), 1, max_ranks);
  options->tuning.add_to(*command);
  options->device.add_to(*command);
  command->add_flag("--json", options->json, "Print JSON: an array of plans");
  command->callback([options, &action] { action = [options] { return explain_spec(*options); }; });
}

}  // namespace irisgen::cli
