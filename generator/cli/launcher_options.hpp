#pragma once

#include "irisgen/launcher.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace irisgen::cli {

/// Adds --namespace and --license, which `generate` and `compile --embed` must be given alike.
void add_launcher_options(CLI::App& command, LauncherOptions& options);

/// Throws UsageError for a namespace that is none, or a licence of several lines.
void check_launcher_options(const LauncherOptions& options);

}  // namespace irisgen::cli
