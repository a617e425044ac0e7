#include "iris/run.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/measuring.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/processes.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/run_report.hpp"
#include "generator/cli/tensors.hpp"
#include "generator/cli/terminal.hpp"
#include "iris/jit.hpp"
#include "irisgen/plan.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunCommand {
  std::string spec;
  std::string kernel;
  std::string target = "host";
  std::string compiler;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> extents;
  int world = 0;
  std::uint64_t seed = 0;
  int repeat = 1;
  bool no_verify = false;
  TuningOption tuning = TuningOption("auto");
  bool json = false;
  bool processes = false;
};

constexpr const char* run_footer =
    R"(Every kernel of the specification is compiled and launched on all its ranks. Outputs are poisoned first, and every
element of every rank is checked against a float64 reference; the largest error is shown with its place and its
tolerance. Inputs that are not given are seeded random numbers. {rank} in a file's name is each rank's number.

Ranks are threads of one process unless --processes asks for one process each. Started by torchrun or by Open MPI's
mpirun, this process is then one of them; else it starts as many as the world has.

On `host` ranks, blocks and threads run on the CPU in an order that --seed decides; the same seed gives the same order.

Examples:
  irisgen run spec.yaml
  irisgen run spec.yaml --world 3 --seed 7 --repeat 10
  irisgen run spec.yaml --target sm_90a
  irisgen run spec.yaml --world 4 --processes
  mpirun -n 4 irisgen run spec.yaml --processes
  irisgen run spec.yaml --kernel gradient_sum --input "input=gradient_rank{rank}.npy" \
                        --output "output=sum_rank{rank}.npy")";

/// Files belong to one kernel on one world.
void require_one_plan(const std::vector<Plan>& plans, const RunCommand& command) {
  if (plans.size() == 1 || (command.inputs.empty() && command.outputs.empty())) return;
  throw UsageError("--input and --output are for one kernel and one world; choose with --kernel and --world");
}

/// `prints`: this process shows and writes what comes of it.
RunOutcome run_plan(const Plan& plan, const RunCommand& command, Progress& progress, bool prints) {
  const Assignments outputs = parse_assignments("--output", command.outputs);
  const Assignments input_files = parse_assignments("--input", command.inputs);
  check_output_patterns(plan, outputs, input_files);
  Inputs inputs = read_inputs(plan, input_files, parse_assignments("--extent", command.extents));

  RunOutcome outcome;
  outcome.launches = command.repeat;
  outcome.has_reference = !plan.user || !plan.user->reference.none();
  if (prints) progress.show(plan.name + ": compiling");
  const auto start = std::chrono::steady_clock::now();
  outcome.built = iris::build_operation(plan, command.compiler);
  outcome.build_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  iris::RunOptions options{.extents = inputs.extents,
                           .scalars = plan.values,
                           .seed = command.seed,
                           .repeat = command.repeat,
                           .verify = !command.no_verify,
                           .reference = command.no_verify ? nullptr : iris::reference_of(plan),
                           .processes = command.processes,
                           .keep_outputs = !outputs.empty(),
                           .inputs = std::move(inputs.buffers),
                           .build_watched = {},
                           .progress = {}};
  if (plan.user && plan.target->platform == Platform::host && !command.processes)
    options.build_watched = [&] { return iris::build_watched_operation(plan); };
  if (prints)
    options.progress = [&](std::string_view stage, int done, int total) {
      progress.show(plan.name + ": " + std::string(stage) + " " + std::to_string(done) + " of " +
                    std::to_string(total));
    };
  outcome.report = iris::run_operation(outcome.built, options);
  progress.clear();
  if (prints) write_outputs(plan, outputs, outcome.report);
  return outcome;
}

ExitCode run(const RunCommand& command) {
  check_compiler(command.compiler);
  const Target* target = &target_named(command.target);
  Spec spec = select(load_spec(command.spec, command.world), command.kernel);
  const std::optional<OwnRank> self = command.processes ? rank_of_this_process() : std::nullopt;
  if (self.has_value()) keep_world(spec, self->size);
  const std::vector<TuningTable> tables = command.tuning.tables();
  const std::vector<Plan> plans =
      plan_all(spec, std::span(&target, 1), {.tuning = tables, .device = device_of(*target)});
  require_one_plan(plans, command);
  const Assignments extents = parse_assignments("--extent", command.extents);
  for (const auto& [name, text] : extents) parse_extent(name, text);
  check_extents(spec, extents);
  require_values(spec, *target);
  if (command.processes && !self.has_value()) return start_ranks_of(spec, command.spec);
  const bool prints = !self.has_value() || self->rank == 0;

  ExitCode code = ok;
  Json all = Json::array();
  Progress progress;
  std::exception_ptr failure;
  for (const Plan& plan : plans) {
    try {
      const RunOutcome outcome = run_plan(plan, command, progress, prints);
      if (!outcome.report.passed) code = failed;
      if (!prints) continue;
      command.json ? all.push_back(to_json(outcome)) : print_outcome(outcome);
    } catch (const std::exception& error) {
      progress.clear();
      failure = std::current_exception();
      all.push_back({{"kernel", plan.name}, {"world", plan.problem.world}, {"passed", false}, {"error", error.what()}});
      break;
    }
  }
  if (command.json && prints) print_json(all);  // what has been finished, too, where a later kernel fails
  note_cache_problem();
  if (failure) std::rethrow_exception(failure);
  return code;
}

}  // namespace

void add_run(CLI::App& program, Action& action) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* app = program.add_subcommand("run", "Run kernels and verify every element");
  app->footer(run_footer);
  app->add_option("SPEC", command->spec, spec_help)->required();
  app->add_option("--kernel", command->kernel, "Only this kernel");
  app->add_option("--target", command->target, "Where to run")->capture_default_str();
  auto* world = app->add_option("--world", command->world, "This many ranks instead of what the specification says");
  take_whole_number(world, 1, max_ranks);
  app->add_option("--input", command->inputs, "ARG=PATTERN.npy: a rank's input from its file (repeatable)")
      ->allow_extra_args(false);
  app->add_option("--output", command->outputs, "ARG=PATTERN.npy: write a rank's output to its file (repeatable)")
      ->allow_extra_args(false);
  app->add_option("--extent", command->extents,
                  "NAME=NUMBER: a dynamic extent's size, in all kernels that have it (repeatable)")
      ->allow_extra_args(false);
  auto* seed = app->add_option("--seed", command->seed, "Of random inputs and of the host's order of execution");
  take_whole_number(seed->capture_default_str(), 0, max_seed);
  auto* repeat = app->add_option("--repeat", command->repeat, "Launches, one after another");
  take_whole_number(repeat->capture_default_str(), 1, std::numeric_limits<int>::max());
  app->add_flag("--no-verify", command->no_verify, "Do not compare with the reference");
  command->tuning.add_to(*app);
  app->add_option("--compiler", command->compiler, "clang, hiprtc or nvrtc, where several can do the target");
  app->add_flag("--processes", command->processes, "A process for each rank instead of a thread");
  app->add_flag("--json", command->json, "Print JSON: an array of outcomes");
  app->callback([command, &action] { action = [command] { return run(*command); }; });
}

}  // namespace irisgen::cli
