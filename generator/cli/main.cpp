#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/diagnostic.hpp"

namespace irisgen::cli {
namespace {

constexpr auto subcommands = {add_check, add_explain, add_generate, add_compile, add_run,
                              add_bench, add_list,    add_schema,   add_doctor,  add_cache};

constexpr const char* footer = R"(A first walk:
  irisgen check spec.yaml                     is the description right?
  irisgen explain spec.yaml                   what will be made of it, and why
  irisgen run spec.yaml                       run it on the CPU, every element verified
  irisgen generate spec.yaml -o kernels       write the HIP source, launcher and manifest
  irisgen compile spec.yaml --target gfx942 -o kernels

Exit codes: 0 ok, 1 the work failed, 2 bad usage or a bad specification.
Colours appear on a terminal only; NO_COLOR turns them off.)";

void print_error(std::string_view sentence) {
  const bool color = color_wanted(STDERR_FILENO);
  std::cerr << (color ? "\033[1;31m" : "") << "irisgen: error:" << (color ? "\033[0m " : " ") << sentence << '\n';
}

/// CLI11 reports a mistyped subcommand as a missing one; this names the word and the nearest subcommand.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error, int argc, char** argv) {
  if (program.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> names;
    for (const CLI::App* subcommand : program.get_subcommands(nullptr)) names.push_back(subcommand->get_name());
    return "unknown subcommand '" + std::string(argv[1]) + "'" + suggestion(argv[1], {names.begin(), names.end()});
  }
  return error.what();
}

ExitCode report_parse_error(const CLI::App& program, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help or --version
    program.exit(error);
    return ok;
  }
  print_error(usage_message(program, error, argc, argv));
  const auto chosen = program.get_subcommands();
  std::cerr << "Try: irisgen " << (chosen.empty() ? "" : chosen.front()->get_name() + " ") << "--help\n";
  return bad_usage;
}

ExitCode perform(const Action& action) {
  try {
    return action();
  } catch (const SpecError& error) {
    std::cerr << error.report().render(color_wanted(STDERR_FILENO));
    return bad_usage;
  } catch (const UsageError& error) {
    print_error(error.what());
    return bad_usage;
  } catch (const std::exception& error) {
    print_error(error.what());
    return failed;
  }
}

ExitCode run_program(int argc, char** argv) {
  CLI::App program{
      "Makes multi-GPU kernels from a description: checks it, plans it, writes it as HIP C++, compiles it "
      "and runs it."};
  program.name("irisgen");
  program.set_version_flag("--version", "irisgen " IRISGEN_VERSION);
  program.footer(footer);
  program.require_subcommand(1);
  program.get_formatter()->column_width(36);

  Action action;
  for (const auto add : subcommands) add(program, action);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(program, error, argc, argv);
  }
  const ExitCode code = perform(action);
  if (!std::cout.flush()) {
    print_error("cannot write to standard output");
    return failed;
  }
  return code;
}

}  // namespace
}  // namespace irisgen::cli

int main(int argc, char** argv) {
  return irisgen::cli::run_program(argc, argv);
}
