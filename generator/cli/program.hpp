#pragma once

#include <functional>
#include <stdexcept>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace irisgen::cli {

/// What the program ends with; `irisgen --help` documents them.
enum ExitCode : int { ok = 0, failed = 1, bad_usage = 2 };

/// A wrong command line: the program prints the sentence and ends with bad_usage.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The work of the chosen subcommand. Throws UsageError, SpecError or any other std::exception (failed).
using Action = std::function<ExitCode()>;

// Each adds one subcommand, with its options and its help; parsing the command line then sets `action` to its work.
void add_list(CLI::App& program, Action& action);
void add_schema(CLI::App& program, Action& action);
void add_doctor(CLI::App& program, Action& action);
void add_check(CLI::App& program, Action& action);
void add_explain(CLI::App& program, Action& action);
void add_generate(CLI::App& program, Action& action);
void add_compile(CLI::App& program, Action& action);
void add_run(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);
void add_tune(CLI::App& program, Action& action);
void add_lint(CLI::App& program, Action& action);
void add_import(CLI::App& program, Action& action);
void add_cache(CLI::App& program, Action& action);

}  // namespace irisgen::cli
