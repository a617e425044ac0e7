#include "generator/cli/launcher_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "generator/cli/program.hpp"

namespace irisgen::cli {

void add_launcher_options(CLI::App& command, LauncherOptions& options) {
  command.add_option("--namespace", options.name_space, "Namespace of the launchers, as in app::kernels")
      ->capture_default_str();
  command.add_option("--license", options.license,
                     "A line for the top of every file, as in 'SPDX-License-Identifier: MIT'");
}

void check_launcher_options(const LauncherOptions& options) {
  if (!is_namespace(options.name_space)) {
    throw UsageError("--namespace takes identifiers joined by ::, none of them a keyword, not '" + options.name_space +
                     "'");
  }
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  // A backslash at the end of a comment takes the next line in.
  if (std::ranges::any_of(options.license, is_control) || options.license.ends_with('\\')) {
    throw UsageError("--license takes one line of text without control characters or a backslash at its end");
  }
}

}  // namespace irisgen::cli
