#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/lint_report.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "iris/lint.hpp"

namespace irisgen::cli {
namespace {

struct LintOptions {
  std::vector<std::string> files;
  std::string sarif;
  bool json = false;
  bool list = false;
};

constexpr const char* lint_footer =
    R"(Kernels written over <iris/device/…> are read by Clang, and nothing of them runs. A comment takes a finding back:
// NOLINT(iris-volatile) on its line, // NOLINTNEXTLINE(iris-…) on the one before.

Examples:
  irisgen lint kernels/*.hip
  irisgen lint exchange.hip --json | jq -r '.[].findings[].rule'
  irisgen lint exchange.hip --sarif lint.sarif   for code scanning and editors
  irisgen lint --list                            the rules; docs/lint.md explains them)";

ExitCode list_rules(bool json) {
  if (json) {
    nlohmann::ordered_json rules = nlohmann::ordered_json::array();
    for (const iris::LintRule& rule : iris::lint_rules()) {
      rules.push_back({{"name", rule.name}, {"summary", rule.summary}});
    }
    print_json(rules);
    return ok;
  }
  Table table;
  for (const iris::LintRule& rule : iris::lint_rules()) table.add({std::string(rule.name), std::string(rule.summary)});
  table.print(std::cout);
  return ok;
}

bool is_clean(const LintedFile& file) {
  return std::ranges::all_of(file.findings, [](const SourceDiagnostic& finding) {
    return finding.severity == SourceDiagnostic::Severity::note;
  });
}

void print(const LintedFile& file) {
  if (is_clean(file)) std::cout << file.name << ": ok\n";
  std::cerr << render(file, color_wanted(STDERR_FILENO));
}

bool is_sarif(std::string_view content) {
  return content.find("\"version\": \"2.1.0\"") != std::string_view::npos &&
         content.find("sarif") != std::string_view::npos;
}

LintedFile look_at(const std::string& path) {
  std::string text;
  try {
    text = read_text(path);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  return {.name = display_name(path), .findings = iris::lint(display_name(path), text)};
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

ExitCode lint(const LintOptions& options) {
  if (options.list) return list_rules(options.json);
  if (options.files.empty()) throw UsageError("name a file to look at, or --list");
  const std::vector<std::filesystem::path> inputs(options.files.begin(), options.files.end());
  check_named_file({"--sarif", options.sarif, is_sarif}, inputs);

  std::vector<LintedFile> files;
  ExitCode code = ok;
  std::string last_error;
  for (const std::string& path : options.files) {
    try {
      files.push_back(look_at(path));
      if (!options.json) print(files.back());
      if (code == ok && !is_clean(files.back())) code = failed;
    } catch (const std::runtime_error& error) {  // of this file, or of Clang, which then says it of each
      code = std::max(code, dynamic_cast<const UsageError*>(&error) == nullptr ? failed : bad_usage);
      if (error.what() != last_error) std::cerr << "irisgen: error: " << error.what() << '\n';
      last_error = error.what();
    }
  }
  if (options.json) print_json(to_json(files));
  if (!options.sarif.empty()) write_file(options.sarif, text_of(to_sarif(files)));
  return code;
}

}  // namespace

void add_lint(CLI::App& program, Action& action) {
  auto options = std::make_shared<LintOptions>();
  CLI::App* command = program.add_subcommand("lint", "Find mistakes in kernels of your own");
  command->footer(lint_footer);
  command->add_option("FILE", options->files, "Sources over <iris/device/…>; - for standard input");
  command->add_flag("--json", options->json, "Print the findings of each file as JSON");
  command->add_option("--sarif", options->sarif, "Write the findings of all files as SARIF 2.1.0");
  command->add_flag("--list", options->list, "List the rules");
  command->callback([options, &action] { action = [options] { return lint(*options); }; });
}

}  // namespace irisgen::cli
