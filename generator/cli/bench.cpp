#include "iris/bench.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "generator/cli/assignments.hpp"
#include "generator/cli/calibration.hpp"
#include "generator/cli/files.hpp"
#include "generator/cli/measuring.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/processes.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/plan/describe.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;
using Sizes = std::vector<std::int64_t>;

struct BenchCommand {
  std::string spec;
  std::string kernel;
  std::string target;
  std::string sizes;
  std::vector<std::string> extents;
  bool cold = false;
  int world = 0;
  std::string against;
  std::string svg;
  int batches = iris::BenchOptions{}.batches;
  std::uint64_t seed = 0;
  TuningOption tuning = TuningOption("auto");
  bool json = false;
  bool csv = false;
  bool calibrate = false;
  bool processes = false;
  std::filesystem::path table;
};

constexpr const char* bench_footer =
    R"(A time is the median over batches, graphs of launches that follow one another, of the slowest rank. Sizes and
bus bandwidth are counted as nccl-tests counts them; 1 GB/s is 10^9 bytes per second. A call is the host's part of a
launch, which a graph does without. Beside a fused kernel stand the time of its product alone, measured in turn with it,
and that of its bytes over the links; the limit is the larger of the two. Nothing is verified: that is what `irisgen run`
does. The library is measured on the same ranks in the same way: on plain memory and, since NCCL 2.27, on its own memory
in symmetric windows. With --processes each rank is a process, as under torchrun and mpirun, whose processes it joins;
rank 0 prints.

Launches have the same buffers, which a GPU's cache may hold. With --cold they take so many buffers in turn that each
finds its own in memory, as the layers of a model do. --extent measures what one kernel, compiled for a dynamic shape,
takes at each of the lengths; what is predicted beside them is for a kernel that would know them.

--calibrate takes no specification: it measures what this machine's links, memory and launches do, a dozen collectives
of 1 KiB and 256 MiB, and writes these rates into your tuning table. From then on predictions for as many ranks on such
GPUs rest on them, wherever that table is asked.

Examples:
  irisgen bench spec.yaml
  irisgen bench spec.yaml --sizes 1K:256M:2 --world 4
  irisgen bench spec.yaml --sizes 1K:1G --against nccl --svg bandwidth.svg
  irisgen bench spec.yaml --extent m=1,16,64:1024:2 --cold
  irisgen bench spec.yaml --target sm_90a --json
  irisgen bench spec.yaml --world 4 --processes
  irisgen bench --calibrate)";

/// The sizes asked for. Without them: a sweep of a collective, and a fused kernel's own shape.
Sizes bench_sizes(const KernelSpec& kernel, const std::string& text) {
  const bool has_one_size = pattern_of(kernel.problem).bus != nullptr;
  if (text.empty() && !has_one_size) return {};
  return sizes_of(text.empty() ? "4K:64M" : text);
}

/// Throws UsageError for a shape that is left open.
void require_shape(const KernelSpec& kernel, const std::vector<Extents>& given) {
  if (kernel.problem.is_static() || !given.empty() || pattern_of(kernel.problem).bus != nullptr) return;
  const std::string name = kernel.problem.dynamic_extents().front();
  throw UsageError(kernel.name + "'s " + name + " is dynamic: give --extent " + name + "=NUMBER, or several: 1:64:2");
}

/// Throws UsageError, which begins with these words, for the first kernel that is no collective.
void check_collectives(const Spec& spec, const std::string& words) {
  for (const KernelSpec& kernel : spec.kernels) {
    if (pattern_of(kernel.problem).bus != nullptr) continue;
    throw UsageError(words + " collectives, and " + kernel.name + " is a " + pattern_words(kernel.problem.pattern) +
                     "; choose with --kernel");
  }
}

/// Each vendor has a library of its own, of collectives alone.
void check_library(const std::string& against, const Target& target, const Spec& spec) {
  if (against.empty()) return;
  const std::string own = target.platform == Platform::amd ? "rccl" : "nccl";
  check_collectives(spec, "--against: " + own + " has");
  for (const KernelSpec& kernel : spec.kernels) {
    if (!kernel.functions.none())
      throw UsageError("--against: " + own + " calls no function of your own, as " + kernel.name + " does");
  }
  if (against == own) return;
  throw UsageError("--against: kernels for " + std::string(target.name) + " can be measured against " + own + ", not " +
                   against);
}

bool is_chart(std::string_view content) {
  return content.starts_with("<svg ");
}

/// Better known before the measurement than after it.
void check_chart(const BenchCommand& command, const Spec& spec) {
  if (command.svg.empty()) return;
  check_collectives(spec, "--svg: a chart shows");
  check_named_file({"--svg", command.svg, is_chart}, inputs_of(command.spec));
}

Json to_json(const Target& target, const iris::BenchReport& report) {
  Json points = Json::array();
  for (const iris::BenchPoint& point : report.points) {
    points.push_back({{"extents", extents_json(point.extents)},
                      {"bytes", point.bytes},
                      {"variant", point.variant},
                      {"grids", point.grids},
                      {"time_us", point.time_us},
                      {"predicted_us", point.predicted_us},
                      {"fastest_us", point.fastest_us},
                      {"slowest_us", point.slowest_us},
                      {"call_us", point.call_us},
                      {"algorithm_gbs", point.algorithm_gbs},
                      {"bus_gbs", point.bus_gbs},
                      {"link_gbs", point.link_gbs},
                      {"tflops", point.tflops},
                      {"product_us", point.product_us},
                      {"links_us", point.links_us},
                      {"of_limit", point.product_us > 0 ? Json(point.of_limit()) : Json()},
                      {"library_us", point.library.time_us},
                      {"library_window_us", point.library.window_us}});
  }
  return {{"kernel", report.kernel},
          {"pattern", report.pattern},
          {"dtype", to_string(report.dtype)},
          {"target", target.name},
          {"device", report.device},
          {"library", report.library},
          {"world", report.world},
          {"ranks_per_device", report.ranks_per_device},
          {"cold", report.cold},
          {"points", std::move(points)}};
}

void print_table(const iris::BenchReport& report) {
  std::cout << heading(report.kernel) << ": " << pattern_words(report.pattern) << " of " << to_string(report.dtype)
            << ", " << report.world << " ranks on " << report.device << (report.cold ? ", buffers in memory" : "")
            << '\n';
  if (report.ranks_per_device > 1) {
    std::cout << "  " << report.ranks_per_device << " ranks share a GPU: these times tell little\n";
  }
  std::vector<std::string> titles = {"size",    "variant", "blocks x threads", "median us",
                                     "fastest", "slowest", "predicted",        "call us"};
  const bool multiplies = irisgen::find_pattern(report.pattern)->product != nullptr;
  const bool fused = std::ranges::any_of(report.points, [](const auto& point) { return point.product_us > 0; });
  titles.emplace_back(multiplies ? "TFLOP/s" : "bus GB/s");
  if (fused) titles.insert(titles.end(), {"product us", "links us", "of limit"});
  if (!report.library.empty()) titles.insert(titles.end(), {report.library + " us", "in windows", "its best / ours"});
  Table table(titles);
  for (const iris::BenchPoint& point : report.points) {
    std::vector<std::string> row = {shown_size(point.bytes, point.extents),
                                    point.variant,
                                    point.grids,
                                    number(point.time_us),
                                    number(point.fastest_us),
                                    number(point.slowest_us),
                                    number(point.predicted_us),
                                    point.call_us > 0 ? number(point.call_us) : "-"};
    row.push_back(number(multiplies ? point.tflops : point.bus_gbs));
    if (fused) {
      row.insert(row.end(), {number(point.product_us), number(point.links_us), number(100 * point.of_limit()) + " %"});
    }
    if (!report.library.empty()) {
      const std::string in_windows = point.library.window_us > 0 ? number(point.library.window_us) : "-";
      row.insert(row.end(),
                 {number(point.library.time_us), in_windows, number(point.library.best_us() / point.time_us)});
    }
    table.add(row);
  }
  table.print(std::cout);
}

std::vector<iris::BenchReport> measure(const BenchCommand& command, const Spec& spec, const Target& target,
                                       const std::vector<TuningTable>& tables, bool prints) {
  std::vector<iris::BenchReport> all;
  Progress progress;
  const bool prints_rows = prints && command.csv;
  if (prints_rows) std::cout << iris::bench_csv_header() << std::flush;
  for (const KernelSpec& kernel : spec.kernels) {
    for (const int world : kernel.worlds) {
      std::vector<Extents> extents = extents_to_measure(kernel, parse_assignments("--extent", command.extents));
      iris::BenchOptions options{.sizes = extents.empty() ? bench_sizes(kernel, command.sizes) : Sizes{},
                                 .extents = std::move(extents),
                                 .batches = command.batches,
                                 .cold = command.cold,
                                 .seed = command.seed,
                                 .compiler = {},
                                 .plan = {.tuning = tables, .device = device_of(target)},
                                 .against_library = !command.against.empty(),
                                 .processes = command.processes};
      options.progress = [&](int done, int total) {
        if (prints) progress.show(kernel.name + ": size " + std::to_string(done + 1) + " of " + std::to_string(total));
      };
      all.push_back(iris::bench_operation(kernel, world, target, options));
      progress.clear();
      // At once: of a long run that is stopped nothing is lost.
      if (prints_rows) std::cout << iris::bench_csv_rows(all.back()) << std::flush;
      if (prints && !command.json && !command.csv) print_table(all.back());
    }
  }
  return all;
}

/// What comes as a whole.
void write_reports(const BenchCommand& command, const Target& target, const std::vector<iris::BenchReport>& all) {
  if (command.json) {
    Json json = Json::array();
    for (const iris::BenchReport& report : all) json.push_back(to_json(target, report));
    print_json(json);
  }
  if (!command.svg.empty()) write_file(command.svg, iris::bench_chart(all));
}

ExitCode bench(const BenchCommand& command) {
  if (command.calibrate) {
    return calibrate({.target = command.target,
                      .world = command.world,
                      .batches = command.batches,
                      .table = command.table,
                      .json = command.json});
  }
  if (command.spec.empty()) throw UsageError("name the specification to measure, or --calibrate");
  Spec spec = select(load_spec(command.spec, command.world), command.kernel);
  const std::optional<OwnRank> self = command.processes ? rank_of_this_process() : std::nullopt;
  if (self.has_value()) keep_world(spec, self->size);
  const Assignments extents = parse_assignments("--extent", command.extents);
  check_extents(spec, extents);
  for (const KernelSpec& kernel : spec.kernels) {
    bench_sizes(kernel, command.sizes);
    require_shape(kernel, extents_to_measure(kernel, extents));
  }
  const Target& target = measured_target(command.target);
  check_library(command.against, target, spec);
  require_values(spec, target);
  const std::vector<TuningTable> tables = command.tuning.tables();
  check_chart(command, spec);
  if (command.processes && !self.has_value()) return start_ranks_of(spec, command.spec);
  const bool prints = !self.has_value() || self->rank == 0;
  const std::vector<iris::BenchReport> all = measure(command, spec, target, tables, prints);
  if (prints) write_reports(command, target, all);
  return ok;
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* app = program.add_subcommand("bench", "Measure kernels on this machine's GPUs");
  app->footer(bench_footer);
  auto* spec = app->add_option("SPEC", command->spec, spec_help);
  auto* calibrate = app->add_flag("--calibrate", command->calibrate, "Measure this machine's rates")->excludes(spec);
  app->add_option("--table", command->table, "The tuning table that --calibrate writes to (default: yours)")
      ->needs(calibrate);
  app->add_option("--target", command->target, "GPU target (default: that of the first GPU)");
  auto* sizes = app->add_option(
      "--sizes", command->sizes,
      "Bytes, FIRST:LAST[:FACTOR] with K, M, G, or several by commas (default: 4K:64M by 4; a product's shape)");
  auto* extent = app->add_option("--extent", command->extents,
                                 "NAME=LENGTHS: of a dynamic extent, each measured, as --sizes has them (repeatable)")
                     ->allow_extra_args(false)
                     ->excludes(sizes);
  auto* cold = app->add_flag("--cold", command->cold, "Launches find their buffers in memory, not in a cache");
  auto* kernel = app->add_option("--kernel", command->kernel, "Only this kernel");
  auto* against =
      app->add_option("--against", command->against, "nccl or rccl: measure the vendor's library of collectives, too")
          ->check(CLI::IsMember({"nccl", "rccl"}))
          ->excludes(cold);
  auto* svg = app->add_option("--svg", command->svg, "Also draw time and bandwidth against size into this file");
  take_whole_number(app->add_option("--world", command->world, "This many ranks"), 1, max_ranks);
  auto* batches =
      app->add_option("--batches", command->batches, "The median is over these; many leave the chip warm, and slower");
  take_whole_number(batches->capture_default_str(), 1, 10000);
  take_whole_number(app->add_option("--seed", command->seed, "Of the random data")->capture_default_str(), 0, max_seed);
  command->tuning.add_to(*app);
  auto* json = app->add_flag("--json", command->json, "Print JSON");
  auto* csv = app->add_flag("--csv", command->csv, "Print CSV, a row for each size")->excludes(json);
  auto* processes = app->add_flag("--processes", command->processes, "A process for each rank instead of a thread");
  for (CLI::Option* option : {sizes, extent, kernel, against, svg}) calibrate->excludes(option);
  for (CLI::Option* flag : {cold, csv, processes}) calibrate->excludes(flag);
  app->callback([command, &action] { action = [command] { return bench(*command); }; });
}

}  // namespace irisgen::cli
