#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "iris/source_reader.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/source.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::vector<std::string> specs;
  std::vector<std::string> targets;
  bool json = false;
};

constexpr const char* check_footer =
    R"(All errors of a description are shown at once, each with its place. Then every kernel is planned for the targets named,
or for all of them, up to the first thing that a target cannot do: what some cannot is a note, and what none can an error.

Examples:
  irisgen check spec.yaml
  irisgen check kernels/*.yaml --target gfx942 --target sm_90a
  generate-spec | irisgen check -
  irisgen check spec.yaml --json | jq '.[].targets.gfx942.errors')";

/// What one file came to.
struct Outcome {
  Report report;
  std::size_t kernels = 0;
  std::vector<Refusal> refusals = {};
};

/// A user's reference, which no plan asks for, as the first plan of each kernel would have it.
void check_references(const std::vector<Plan>& plans, Report& report) {
  std::set<std::string> looked_at;
  for (const Plan& plan : plans) {
    if (!plan.user || plan.user->reference.source.empty() || !looked_at.insert(plan.name).second) continue;
    try {
      plan.user->reader->read_reference(question_of_reference(plan));
    } catch (const SourceError& problem) {
      report.error(plan.user->reference.where, problem.what(), problem.rendered());
    } catch (const std::runtime_error& problem) {  // no such file, say
      report.error(plan.user->reference.where, problem.what());
    }
  }
}

/// Reads the specification and plans all its kernels that are right.
Outcome check_spec(const std::string& path, const std::vector<const Target*>& targets, bool all_targets) {
  const std::string text = read_text(path);
  Outcome outcome{.report = Report(display_name(path), text)};
  Spec spec = parse_spec(display_name(path), text, {}, outcome.report);
  iris::attach_source_reader(spec);
  for (const KernelSpec& kernel : spec.kernels) outcome.kernels += kernel.worlds.size();
  check_references(plan_all(spec, targets, {}, outcome.refusals), outcome.report);
  for (const Refusal& refusal : outcome.refusals) {
    const bool wrong = refusal.everywhere || !all_targets;
    if (wrong) {
      outcome.report.error(refusal.diagnostic.where, refusal.message(), refusal.diagnostic.detail);
    } else {
      outcome.report.note(refusal.diagnostic.where, refusal.message());
    }
  }
  return outcome;
}

Json json_of(const Diagnostic& diagnostic, const std::string& message) {
  return {{"line", diagnostic.where.line}, {"column", diagnostic.where.column}, {"message", message}};
}

Json json_of(const Report& report, Severity severity) {
  Json list = Json::array();
  for (const Diagnostic* diagnostic : report.by_place()) {
    if (diagnostic->severity == severity) list.push_back(json_of(*diagnostic, diagnostic->message));
  }
  return list;
}

/// What each target says of the kernels that are right by the language.
Json json_of(const std::vector<Refusal>& refusals, const std::vector<const Target*>& targets) {
  Json verdicts = Json::object();
  for (const Target* target : targets) {
    Json errors = Json::array();
    for (const Refusal& refusal : refusals) {
      const bool concerned = std::ranges::find(refusal.targets, target) != refusal.targets.end();
      if (concerned) errors.push_back(json_of(refusal.diagnostic, refusal.diagnostic.message));
    }
    verdicts[std::string(target->name)] = {{"ok", errors.empty()}, {"errors", std::move(errors)}};
  }
  return verdicts;
}

Json json_of(const std::string& path, const Outcome& outcome, const std::vector<const Target*>& targets) {
  return {{"file", display_name(path)},
          {"ok", outcome.report.ok()},
          {"kernels", outcome.kernels},
          {"errors", json_of(outcome.report, Severity::error)},
          {"notes", json_of(outcome.report, Severity::note)},
          {"targets", json_of(outcome.refusals, targets)}};
}

void print(const std::string& path, const Outcome& outcome) {
  if (outcome.report.ok()) {
    std::cout << display_name(path) << ": ok, " << outcome.kernels
              << (outcome.kernels == 1 ? " kernel\n" : " kernels\n");
  }
  const std::string rendered = outcome.report.render(color_wanted(STDERR_FILENO));
  if (!rendered.empty()) std::cerr << rendered << '\n';
}

ExitCode check(const CheckOptions& options) {
  const auto targets = targets_named(options.targets);
  ExitCode code = ok;
  Json results = Json::array();
  for (const std::string& path : options.specs) {
    try {
      const Outcome outcome = check_spec(path, targets, options.targets.empty());
      if (!outcome.report.ok()) code = bad_usage;
      options.json ? results.push_back(json_of(path, outcome, targets)) : print(path, outcome);
    } catch (const std::runtime_error& error) {  // a file that cannot be read; the others are checked all the same
      code = bad_usage;
      const Json errors = Json::array({{{"line", 0}, {"column", 0}, {"message", error.what()}}});
      if (options.json) {
        results.push_back(
            {{"file", path}, {"ok", false}, {"kernels", 0}, {"errors", errors}, {"notes", Json::array()}});
      } else {
        std::cerr << "irisgen: error: " << error.what() << '\n';
      }
    }
  }
  if (options.json) std::cout << results.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  return code;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = program.add_subcommand("check", "Check specifications: syntax, schema and typed rules");
  command->footer(check_footer);
  command->add_option("SPEC", options->specs, "Specifications, YAML or JSON; - for standard input")->required();
  command->add_option("--target", options->targets, "Plan every kernel for this target (repeatable; default: all)")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print the outcome of each file as JSON");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace irisgen::cli
