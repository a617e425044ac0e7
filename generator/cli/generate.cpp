#include "irisgen/generate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/launcher_options.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"
#include "irisgen/output.hpp"

namespace irisgen::cli {
namespace {

namespace fs = std::filesystem;

struct GenerateCommand {
  std::string spec;
  fs::path folder;
  std::vector<std::string> targets;
  fs::path depfile;
  GenerateOptions generation;
  TuningOption tuning = TuningOption("shipped");
  DeviceOption device = {};
  bool dry_run = false;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

constexpr const char* generate_footer =
    R"(Writes, for every kernel, world and target, NAME.wWORLD.TARGET.hip and .json (the manifest), and for every kernel
NAME.hpp (the typed launcher); parts of an operation have sources NAME.wWORLD.TARGET.PART.hip. With --bare, for programs
that do not link irisgen's runtime: self-contained sources, and NAME.wWORLD.TARGET.bare.hpp, which includes them and
launches them by HIP's or CUDA's runtime alone, on memory, streams and ranks of the program's own.

The same specification gives the same bytes on every machine. Files that would not change are not touched. Files that an
earlier run made of this specification, and this one does not (kernels that left it, targets that are not named any more),
are removed.

Examples:
  irisgen generate spec.yaml -o kernels
  irisgen generate spec.yaml -o kernels --target gfx942 --target sm_90a
  irisgen generate spec.yaml -o kernels --target gfx942 --self-contained   one file, no include
  irisgen generate spec.yaml -o kernels --target sm_90a --bare             for nvcc, without irisgen's runtime
  irisgen generate spec.yaml -o kernels --dry-run)";

void write_depfile(const GenerateCommand& options, const std::vector<fs::path>& outputs,
                   const std::vector<fs::path>& sources) {
  std::vector<fs::path> inputs = inputs_of(options.spec, options.tuning.files());
  inputs.insert(inputs.end(), sources.begin(), sources.end());
  write_file(options.depfile, depfile(outputs, inputs));
}

/// A launcher without irisgen's runtime is one for a GPU.
std::vector<const Target*> bare_targets(const std::vector<std::string>& names) {
  std::vector<const Target*> chosen = targets_named(names);
  const auto is_host = [](const Target* target) { return target->platform == Platform::host; };
  if (!names.empty() && std::ranges::any_of(chosen, is_host)) {
    throw UsageError(
        "--bare writes launchers for HIP or CUDA, and ranks of target host run in irisgen's runtime; leave --bare out "
        "for "
        "it, or name GPUs' targets");
  }
  std::erase_if(chosen, is_host);
  return chosen;
}

ExitCode generate_spec(const GenerateCommand& options) {
  const auto targets = options.generation.bare ? bare_targets(options.targets) : targets_named(options.targets);
  const Spec spec = load_spec(options.spec);
  check_launcher_options(options.generation.launcher);
  check_named_file({"--depfile", options.depfile, is_depfile}, inputs_of(options.spec, options.tuning.files()));
  const std::vector<TuningTable> tables = options.tuning.tables();
  GenerateOptions generation = options.generation;
  generation.plan = {.tuning = tables, .device = options.device.known_to(tables)};
  const auto files = generate(spec, targets, generation);
  const std::vector<fs::path> outputs = paths_in(options.folder, files);
  check_apart({"--depfile", options.depfile, is_depfile}, outputs);
  const std::string owner = owner_of("generate", options.spec, options.folder);
  const WriteResult result =
      write_folder(options.folder, owner, files, {.dry_run = options.dry_run, .force = options.force});
  if (!options.depfile.empty() && !options.dry_run)
    write_depfile(options, outputs, sources_of(plan_all(spec, targets, generation.plan)));
  if (options.json) {
    print_json(result_json(result));
  } else if (!options.quiet) {
    print_result(options.folder, result, options.dry_run);
  }
  return ok;
}

}  // namespace

void add_generate(CLI::App& program, Action& action) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = program.add_subcommand("generate", "Write the HIP source, launcher and manifest of every kernel");
  command->footer(generate_footer);
  command->add_option("SPEC", options->spec, spec_help)->required();
  command->add_option("-o,--output-dir", options->folder, "Folder to write to; made if need be")->required();
  command->add_option("--target", options->targets, "Target to write for (repeatable; default: all)")
      ->allow_extra_args(false);
  command->add_flag("--self-contained", options->generation.self_contained,
                    "Bring along what the kernel uses of irisgen's device headers instead of including them");
  command->add_flag("--bare", options->generation.bare,
                    "Launchers for programs that do not link irisgen's runtime, with self-contained sources");
  add_launcher_options(*command, options->generation.launcher);
  options->tuning.add_to(*command);
  options->device.add_to(*command);
  command->add_option("--depfile", options->depfile, "Also write the dependencies, as Make and Ninja read them");
  command->add_flag("--dry-run", options->dry_run, "Tell what would be done; touch nothing");
  command->add_flag("--force", options->force, "Write anew what was changed by hand, too");
  auto* quiet = command->add_flag("-q,--quiet", options->quiet, "Say nothing unless it fails");
  command->add_flag("--json", options->json, "Print what was written as JSON")->excludes(quiet);
  command->callback([options, &action] { action = [options] { return generate_spec(*options); }; });
}

}  // namespace irisgen::cli
