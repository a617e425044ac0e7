#include "iris/tune.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/machine.hpp"
#include "generator/cli/measuring.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/processes.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "generator/plan/describe.hpp"
#include "iris/bench.hpp"
#include "iris/tuning.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/tuning_space.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TuneCommand {
  std::string spec;
  std::string kernel;
  std::string target;
  std::string sizes;
  std::string budget;
  std::string compiler;
  std::filesystem::path table;
  int world = 0;
  int batches = iris::TuneOptions{}.batches;
  std::uint64_t seed = 0;
  bool again = false;
  bool model = false;
  bool json = false;
  bool processes = false;
};

constexpr const char* tune_footer =
    R"(Measures which variant and configuration of each kernel is the fastest on this machine's GPUs, one for each rank, and
writes it into a tuning table, which `variant: auto` asks from then on in `run`, `bench` and programs that compile at
run time (and with --tuning in `generate`, `compile` and `explain`). Every candidate's results are verified before it is
timed. What the table has already, measured on the same device, driver and irisgen, is not measured again, so that an
interrupted run goes on where it ended. Candidates are `tune:` of the description, or values near the Plan's own, and of a
kernel of your own every combination of lists in `constants`. With --processes each rank is a process, as under torchrun and mpirun, whose processes it joins; rank 0 decides and writes.

The table is $IRISGEN_TUNING, else $XDG_CONFIG_HOME/irisgen/tuning.json, else ~/.config/irisgen/tuning.json.

Examples:
  irisgen tune spec.yaml
  irisgen tune spec.yaml --sizes 1K:1G --world 4 --budget 5m
  irisgen tune spec.yaml --table kernels.tuning.json
  irisgen tune spec.yaml --world 4 --processes
  irisgen tune spec.yaml --target gfx942 --model        what can be told without such a GPU)";

/// `60s`, `5m`, `1h`, `90`.
double seconds_of(const std::string& text) {
  if (text.empty()) return std::numeric_limits<double>::infinity();
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "s" : text.substr(digits);
  const double factor = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  constexpr std::size_t most_digits = 9;
  if (digits == 0 || std::min(digits, text.size()) > most_digits || factor == 0) {
    throw UsageError("--budget: '" + text + "' is no time; write 60s, 5m or 1h");
  }
  return std::stod(text) * factor;
}

/// The sizes asked for. Without them, the kernel's own shape, or a sweep of a collective whose shape is dynamic.
std::vector<std::int64_t> tuned_sizes(const KernelSpec& kernel, const std::string& text) {
  const bool has_one_size = pattern_of(kernel.problem).bus != nullptr;
  if (!text.empty() && !has_one_size) {
    throw UsageError("--sizes: " + kernel.name + " is a " + pattern_words(kernel.problem.pattern) +
                     ", which has no one size; choose with --kernel");
  }
  if (text.empty() && kernel.problem.is_static()) return {};
  if (text.empty() && !has_one_size) {
    throw UsageError("the shape of " + kernel.name + " is dynamic; write the lengths to tune it for");
  }
  return sizes_of(text.empty() ? "1K:256M" : text);
}

std::string words_of(const iris::TriedCandidate& candidate) {
  std::vector<std::string> words;
  for (const Settings* settings : {&candidate.constants, &candidate.config}) {
    for (const auto& [key, setting] : *settings) words.push_back(key + " " + std::to_string(setting.value));
  }
  return words.empty() ? "the Plan's" : join(words);
}

std::string shown_size(const Problem& problem) {
  return cli::shown_size(bus_size(problem), problem.static_extents());
}

Json to_json(const Settings& config) {
  Json json = Json::object();
  for (const auto& [key, setting] : config) json[key] = setting.value;
  return json;
}

Json to_json(const iris::TunedProblem& problem) {
  Json candidates = Json::array();
  for (const iris::TriedCandidate& candidate : problem.candidates) {
    candidates.push_back({{"variant", candidate.variant},
                          {"config", to_json(candidate.config)},
                          {"constants", to_json(candidate.constants)},
                          {"predicted_us", candidate.predicted_us},
                          {"time_us", candidate.time_us},
                          {"why", candidate.why},
                          {"failed", candidate.failed}});
  }
  return {{"extents", extents_json(problem.problem.static_extents())},
          {"bytes", problem.bytes},
          {"known", problem.known},
          {"complete", problem.complete},
          {"best", problem.best < 0 ? Json() : Json(problem.best)},
          {"candidates", std::move(candidates)}};
}

Json to_json(const iris::TuneReport& report, int world) {
  Json problems = Json::array();
  for (const iris::TunedProblem& problem : report.problems) problems.push_back(to_json(problem));
  return {{"kernel", report.kernel},     {"world", world},
          {"device", report.device},     {"driver", report.driver},
          {"complete", report.complete}, {"problems", std::move(problems)}};
}

std::vector<std::string> row_of(const iris::TunedProblem& problem) {
  const std::string size = shown_size(problem.problem);
  if (problem.best < 0) return {size, "none is right", "", "", "", ""};
  const iris::TriedCandidate& best = problem.candidates[static_cast<std::size_t>(problem.best)];
  std::vector<std::string> row = {size, best.variant, words_of(best), number(best.time_us)};
  if (problem.known) {
    row.insert(row.end(), {"", "known"});
  } else {
    const double untuned_us = problem.candidates.front().time_us;
    row.insert(row.end(), {untuned_us > 0 ? number(untuned_us) : "-",
                           std::to_string(problem.count_measured()) + " of " +
                               std::to_string(problem.candidates.size()) + (problem.complete ? "" : ", no time left")});
  }
  return row;
}

void print(const iris::TuneReport& report, int world, bool for_table) {
  std::cout << heading(report.kernel) << ": " << world << " ranks on " << report.device << '\n';
  Table table({"size", "fastest", "config", "median us", "untuned", "measured"});
  for (const iris::TunedProblem& problem : report.problems) table.add(row_of(problem));
  table.print(std::cout);
  for (const iris::TunedProblem& problem : report.problems) {
    for (const iris::TriedCandidate& candidate : problem.candidates) {
      if (!candidate.failed) continue;
      std::cout << "  not taken at " << shown_size(problem.problem) << ": " << candidate.variant << " ("
                << words_of(candidate) << "): " << candidate.why << '\n';
    }
  }
  if (!for_table)
    std::cout << "  not written: it sets its variant or config itself, so that `auto` has no part in it\n";
  if (!report.complete) std::cout << "  the time was over before all was measured; the same command goes on\n";
}

/// What the model says of one variant of one problem.
struct ModelRow {
  Problem problem;
  std::string variant;
  double predicted_us;
  std::int64_t candidates;
};

std::vector<ModelRow> model_rows(const KernelSpec& kernel, int world, const Target& target,
                                 const std::vector<std::int64_t>& sizes) {
  std::vector<KernelSpec> kernels;
  kernels.reserve(sizes.size() + 1);
  for (const std::int64_t bytes : sizes) kernels.push_back(iris::at_size(kernel, world, bytes));
  if (sizes.empty()) kernels.push_back(kernel);
  std::vector<ModelRow> rows;
  for (const KernelSpec& sized : kernels) {
    for (const TuningCandidate& candidate : tuning_candidates(sized, world, target)) {
      const bool own = candidate.config.empty();
      const Plan& plan = candidate.plan;
      if (own) rows.push_back({plan.problem, candidate.variant, plan.prediction.time_us, 0});
      ++rows.back().candidates;
    }
  }
  return rows;
}

void print(const std::vector<ModelRow>& rows) {
  Table table({"size", "variant", "predicted us", "candidates"});
  const Problem* last = nullptr;
  for (const ModelRow& row : rows) {
    const bool first = last == nullptr || *last != row.problem;
    table.add({first ? shown_size(row.problem) : "", row.variant, row.predicted_us > 0 ? number(row.predicted_us) : "-",
               std::to_string(row.candidates)});
    last = &row.problem;
  }
  table.print(std::cout);
}

/// For a machine without such GPUs.
ExitCode show_model(const TuneCommand& command, const Spec& spec) {
  if (command.target.empty()) throw UsageError("--model: name the target that it is about (--target)");
  const Target& target = measured_target(command.target);
  Json all = Json::array();
  for (const KernelSpec& kernel : spec.kernels) {
    for (const int world : kernel.worlds) {
      const std::vector<ModelRow> rows = model_rows(kernel, world, target, tuned_sizes(kernel, command.sizes));
      for (const ModelRow& row : rows) {
        all.push_back({{"kernel", kernel.name},
                       {"world", world},
                       {"target", target.name},
                       {"extents", extents_json(row.problem.static_extents())},
                       {"bytes", bus_size(row.problem)},
                       {"variant", row.variant},
                       {"predicted_us", row.predicted_us},
                       {"candidates", row.candidates}});
      }
      if (command.json) continue;
      std::cout << heading(kernel.name) << ": " << world << " ranks on " << target.name << ", as the model has it\n";
      print(rows);
    }
  }
  if (command.json) {
    print_json(all);
  } else {
    std::cout << "  The model counts bytes, signals, launches and multiply-adds, at "
              << (target.measured ? "rates measured on such a GPU" : "the vendor's rates, which were not measured")
              << ".\n  It cannot tell the candidates of one variant apart. No table is written: `auto` asks the model "
                 "anyway.\n";
  }
  return ok;
}

/// Better known before the measurement than in its midst: that there are too few GPUs, or no place for the table.
void check_before_measuring(const Spec& spec, const Target& target, const std::filesystem::path& table) {
  const int devices = devices_of(survey_machine(), target);
  for (const KernelSpec& kernel : spec.kernels) {
    const int most = *std::ranges::max_element(kernel.worlds);
    if (most <= devices) continue;
    throw std::runtime_error(kernel.name + " has a world of " + std::to_string(most) + ", and there are " +
                             std::to_string(devices) + " GPUs of target " + std::string(target.name) +
                             ", of which each rank needs one; tune fewer ranks (--world)");
  }
  const std::filesystem::path folder = std::filesystem::absolute(table).parent_path();
  std::filesystem::create_directories(folder);
  if (::access(folder.c_str(), W_OK) != 0) {
    throw std::runtime_error("cannot write into " + folder.string() + "; name a table elsewhere (--table)");
  }
}

/// `prints`: this process shows what comes of it, and writes the table.
ExitCode tune_kernels(const TuneCommand& command, const Spec& spec, const Target& target,
                      const std::filesystem::path& file, bool prints) {
  iris::TuneOptions options{.batches = command.batches,
                            .seed = command.seed,
                            .compiler = command.compiler,
                            .processes = command.processes,
                            .known = command.again ? TuningTable() : iris::read_tuning(file)};
  bool written = false;
  options.found = [&](const TuningEntry& entry) {
    if (prints) iris::add_tuning(file, entry);
    options.known.set(entry);
    written = true;
  };
  Progress progress;
  Json all = Json::array();
  bool right = true;
  const double budget_s = seconds_of(command.budget);
  const auto start = std::chrono::steady_clock::now();
  for (const KernelSpec& kernel : spec.kernels) {
    options.sizes = tuned_sizes(kernel, command.sizes);
    options.progress = [&](int problem, int problems, std::string_view doing, int candidates) {
      if (!prints) return;
      progress.show(kernel.name + ": " + std::to_string(problem + 1) + " of " + std::to_string(problems) + ": " +
                    std::string(doing) + " (" + std::to_string(candidates) + ")");
    };
    for (const int world : kernel.worlds) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      options.budget_s = budget_s - spent.count();
      const iris::TuneReport report = iris::tune_operation(kernel, world, target, options);
      progress.clear();
      for (const iris::TunedProblem& problem : report.problems) right = right && problem.best >= 0;
      all.push_back(to_json(report, world));
      if (prints && !command.json) print(report, world, is_for_tables(kernel));
    }
  }
  if (prints && command.json) print_json(all);
  if (prints && !command.json && written) std::cout << "  written to " << file.string() << '\n';
  return right ? ok : failed;
}

ExitCode tune(const TuneCommand& command) {
  check_compiler(command.compiler);
  Spec spec = select(load_spec(command.spec, command.world), command.kernel);
  seconds_of(command.budget);
  if (command.model) return show_model(command, spec);
  const std::optional<OwnRank> self = command.processes ? rank_of_this_process() : std::nullopt;
  if (self.has_value()) keep_world(spec, self->size);
  for (const KernelSpec& kernel : spec.kernels) tuned_sizes(kernel, command.sizes);
  const std::filesystem::path file = command.table.empty() ? iris::user_tuning_file() : command.table;
  if (file.empty()) throw UsageError("there is no place for the table; set HOME, or name a file (--table)");
  iris::read_tuning(file);  // what is wrong with it is better known before the measurement
  const Target& target = measured_target(command.target);
  require_values(spec, target);
  check_before_measuring(spec, target, file);
  if (command.processes && !self.has_value()) return start_ranks_of(spec, command.spec);
  return tune_kernels(command, spec, target, file, !self.has_value() || self->rank == 0);
}

}  // namespace

void add_tune(CLI::App& program, Action& action) {
  auto command = std::make_shared<TuneCommand>();
  CLI::App* app = program.add_subcommand("tune", "Measure what runs best on this machine's GPUs, for `variant: auto`");
  app->footer(tune_footer);
  app->add_option("SPEC", command->spec, spec_help)->required();
  app->add_option("--target", command->target, "GPU target (default: that of the first GPU)");
  app->add_option(
      "--sizes", command->sizes,
      "Bytes, FIRST:LAST[:FACTOR] with K, M, G (default: the kernel's own shape; 1K:256M by 4 of a dynamic one)");
  app->add_option("--kernel", command->kernel, "Only this kernel");
  take_whole_number(app->add_option("--world", command->world, "This many ranks"), 1, max_ranks);
  app->add_option("--budget", command->budget, "Begin nothing after this time: 60s, 5m, 1h (default: none)");
  app->add_option("--table", command->table, "The table to write (default: yours)");
  app->add_flag("--again", command->again, "Measure what the table has already, too");
  auto* batches = app->add_option("--batches", command->batches, "The last medians are over these");
  take_whole_number(batches->capture_default_str(), 1, 10000);
  app->add_option("--compiler", command->compiler, "clang, hiprtc or nvrtc, where several can do the target");
  take_whole_number(app->add_option("--seed", command->seed, "Of the random data")->capture_default_str(), 0, max_seed);
  app->add_flag("--processes", command->processes, "A process for each rank instead of a thread");
  app->add_flag("--model", command->model, "Measure nothing: show what the model says of a target");
  app->add_flag("--json", command->json, "Print JSON");
  app->callback([command, &action] { action = [command] { return tune(*command); }; });
}

}  // namespace irisgen::cli
