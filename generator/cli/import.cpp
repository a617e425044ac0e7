#include "iris/import.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "generator/cli/files.hpp"
#include "generator/cli/lint_report.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "irisgen/spec.hpp"

namespace irisgen::cli {
namespace {

namespace fs = std::filesystem;

struct ImportCommand {
  std::string file;
  std::string entry;
  fs::path output;
  int world = 0;
  bool force = false;
  bool json = false;
};

constexpr const char* import_footer =
    R"(Reads a kernel of HIP or CUDA, or one over <iris/device/…>, by Clang: nothing of it runs, and neither HIP nor CUDA need
be installed. Prints, or writes, a first description, and on standard error what must change in the source, line by line.
What is a guess bears a comment. docs/import.md tells what becomes of what.

Examples:
  irisgen import all_reduce.cu
  irisgen import halo.hip --entry exchange --world 4 -o halo.yaml
  irisgen import all_reduce.cu --json | jq -r '.findings[].rule' | sort | uniq -c)";

/// The source as a description at `output` names it.
std::string source_from(const std::string& file, const fs::path& output) {
  if (file == "-") return "kernel.hip";
  const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  const fs::path path = fs::path(file).lexically_normal();
  return fs::absolute(path).lexically_relative(fs::absolute(folder).lexically_normal()).generic_string();
}

void check_output(const ImportCommand& command) {
  std::error_code error;
  if (command.output.empty() || !fs::exists(command.output, error)) return;
  if (fs::equivalent(command.output, command.file, error))
    throw UsageError("-o " + command.output.string() + " would overwrite the kernel");
  if (!command.force)
    throw UsageError("-o " + command.output.string() + " is there already; name another file, or add --force");
}

bool is_error(const SourceDiagnostic& finding) {
  return finding.severity == SourceDiagnostic::Severity::error;
}

/// The description below the folder of the source is what paths may be; other ones are left to the user.
std::string checked_source(const ImportCommand& command) {
  std::string source = source_from(command.file, command.output);
  if (source.starts_with("../"))
    throw UsageError("a description lies beside its kernel, or above it; name a file there with -o");
  return source;
}

ExitCode import_source(const ImportCommand& command) {
  check_output(command);
  std::string text;
  try {
    text = read_text(command.file);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  const std::string source =
      command.output.empty() ? fs::path(command.file).filename().string() : checked_source(command);
  const iris::ImportedKernel imported = iris::import_kernel(
      display_name(command.file), text,
      {.entry = command.entry, .source = command.file == "-" ? "kernel.hip" : source, .world = command.world});
  const LintedFile report = {.name = display_name(command.file), .findings = imported.findings};
  const bool is_refused = std::ranges::any_of(imported.findings, is_error);
  if (!is_refused && !command.output.empty()) write_file(command.output, imported.description);
  if (command.json) {
    nlohmann::ordered_json json = to_json(report);
    json["entry"] = imported.entry;
    json["complete"] = imported.complete;
    json["description"] = imported.description;
    print_json(json);
  } else {
    std::cerr << render(report, color_wanted(STDERR_FILENO));
    if (!is_refused && command.output.empty()) std::cout << imported.description;
  }
  return is_refused ? failed : ok;
}

}  // namespace

void add_import(CLI::App& program, Action& action) {
  auto command = std::make_shared<ImportCommand>();
  CLI::App* app = program.add_subcommand("import", "Describe a kernel that exists, and list what must change in it");
  app->footer(import_footer);
  app->add_option("FILE", command->file, "Source of HIP or CUDA; - for standard input")->required();
  app->add_option("--entry", command->entry, "The kernel, where the source has several");
  take_whole_number(app->add_option("--world", command->world, "Ranks that the description names"), 1, max_ranks);
  app->add_option("-o,--output", command->output, "Write the description there instead of printing it");
  app->add_flag("--force", command->force, "Overwrite it");
  app->add_flag("--json", command->json, "Print the list and the description as JSON");
  app->callback([command, &action] { action = [command] { return import_source(*command); }; });
}

}  // namespace irisgen::cli
