#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "irisgen/generate.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::vector<std::string> specs;
  std::vector<std::string> targets;
  bool json = false;
};

constexpr const char* footer = R"(All errors of a file are shown at once, each with its place.

Examples:
  irisgen check spec.yaml
  irisgen check kernels/*.yaml --target gfx942 --target sm_90a
  irisgen check spec.yaml --json | jq '.[].errors')";

/// Reads the specification and, for each target asked for, plans all its kernels. Returns the number of kernels.
std::size_t check_spec(const std::string& path, const std::vector<const Target*>& targets) {
  const Spec spec = load_spec(path);
  plan_all(spec, targets);
  std::size_t kernels = 0;
  for (const KernelSpec& kernel : spec.kernels) kernels += kernel.worlds.size();
  return kernels;
}

Json json_of(const Report& report) {
  Json errors = Json::array();
  for (const Diagnostic* error : report.by_place()) {
    errors.push_back({{"line", error->where.line}, {"column", error->where.column}, {"message", error->message}});
  }
  return errors;
}

ExitCode check(const CheckOptions& options) {
  const auto targets = options.targets.empty() ? std::vector<const Target*>{} : targets_named(options.targets);
  ExitCode code = ok;
  Json results = Json::array();
  for (const std::string& path : options.specs) {
    Json result = {{"file", path}, {"ok", true}, {"kernels", 0}, {"errors", Json::array()}};
    try {
      const std::size_t kernels = check_spec(path, targets);
      result["kernels"] = kernels;
      if (!options.json) std::cout << path << ": ok, " << kernels << (kernels == 1 ? " kernel\n" : " kernels\n");
    } catch (const SpecError& error) {
      code = bad_usage;
      result["ok"] = false;
      result["errors"] = json_of(error.report());
      if (!options.json) std::cerr << error.report().render(color_wanted(STDERR_FILENO)) << '\n';
    } catch (const UsageError& error) {  // a file that cannot be read; the others are checked all the same
      code = bad_usage;
      result["ok"] = false;
      result["errors"].push_back({{"line", 0}, {"column", 0}, {"message", error.what()}});
      if (!options.json) std::cerr << "irisgen: error: " << error.what() << '\n';
    }
    results.push_back(std::move(result));
  }
  if (options.json) {
    std::cout << results.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  return code;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = program.add_subcommand("check", "Check specifications: syntax, schema and typed rules");
  command->footer(footer);
  command->add_option("SPEC", options->specs, "Specifications, YAML or JSON")->required();
  command->add_option("--target", options->targets, "Also plan every kernel for this target (repeatable)")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print the outcome of each file as JSON");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace irisgen::cli
