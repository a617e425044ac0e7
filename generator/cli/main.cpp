#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "irisgen/diagnostic.hpp"

namespace irisgen::cli {
namespace {

constexpr auto subcommands = {add_check,  add_explain, add_generate, add_compile, add_run,    add_bench, add_tune,
                              add_import, add_lint,    add_list,     add_schema,  add_doctor, add_cache};

constexpr const char* program_footer = R"(A first walk:
  irisgen check spec.yaml                     is the description right?
  irisgen explain spec.yaml                   what will be made of it, and why
  irisgen run spec.yaml                       run it on the CPU, every element verified
  irisgen tune spec.yaml                      measure what is fastest on these GPUs
  irisgen generate spec.yaml -o kernels       write the HIP source, launcher and manifest
  irisgen compile spec.yaml --target gfx942 -o kernels
  irisgen import exchange.cu                  from a kernel that exists to a description
  irisgen lint exchange.hip                   mistakes in a kernel of your own

Exit codes: 0 ok, 1 the work failed, 2 bad usage or a bad specification.
Colours appear on a terminal only; NO_COLOR turns them off.)";

void print_error(std::string_view sentence) {
  const bool color = color_wanted(STDERR_FILENO);
  std::cerr << (color ? "\033[1;31m" : "") << "irisgen: error:" << (color ? "\033[0m " : " ") << sentence << '\n';
}

/// The innermost subcommand that the command line has named.
const CLI::App* chosen(const CLI::App* program) {
  const auto named = program->get_subcommands();
  return named.empty() ? program : chosen(named.front());
}

constexpr const char* is_empty = "must not be empty";

/// The option that a word names with nothing behind its `=`, for which CLI11 would take the next word; empty: none
/// does.
std::string option_without_value(std::span<const char* const> words) {
  for (const std::string_view word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return std::string(word.substr(0, word.size() - 1));
  }
  return "";
}

/// A flag is there or it is not: `--no-verify=3` is a mistake. So is what names nothing, `-o ""`.
void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 0) {
      option->disable_flag_override();
    } else {
      option->check([](const std::string& value) { return value.empty() ? is_empty : ""; });
    }
  }
  for (CLI::App* subcommand : app.get_subcommands(nullptr)) check_values(*subcommand);
}

/// "unknown option '--targt'; did you mean '--target'?": CLI11 names the word, but not the nearest.
std::string unknown_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  const std::string option = word.substr(0, word.find('='));
  if (std::ranges::find(names, option) != names.end())
    return "'" + option + "' belongs behind the subcommand: irisgen " + app.get_name() + " " + option;
  return "unknown option '" + option + "'" + suggestion(option, {names.begin(), names.end()});
}

/// CLI11's sentence, but for what it says in its own terms.
std::string in_our_words(const std::string& message) {
  constexpr std::string_view override = " was given a disallowed flag override";
  if (!message.ends_with(override)) return message;
  return "--" + message.substr(0, message.size() - override.size()) + " takes no value";
}

/// CLI11 reports a mistyped subcommand or option as a missing or a surplus one; this names the word and the nearest.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& app = *chosen(&program);
  const std::vector<std::string> words = program.remaining(true);
  const auto option = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  if (option != words.end()) return unknown_option(app, *option);

  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands(nullptr)) names.push_back(subcommand->get_name());
  if (names.empty()) return in_our_words(error.what());
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (!words.empty()) return "unknown subcommand '" + words.front() + "'" + suggestion(words.front(), known);
  return "name a subcommand" + suggestion("", known);
}

/// What was printed has to have arrived: a full disk is no success.
ExitCode finish(ExitCode code) {
  if (std::cout.flush()) return code;
  print_error("cannot write to standard output");
  return failed;
}

ExitCode report_parse_error(const CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help or --version
    program.exit(error);
    return finish(ok);
  }
  print_error(usage_message(program, error));
  const auto named = program.get_subcommands();
  std::cerr << "Try: irisgen " << (named.empty() ? "" : named.front()->get_name() + " ") << "--help\n";
  return bad_usage;
}

ExitCode perform(const Action& action) {
  try {
    return action();
  } catch (const SpecError& error) {
    std::cerr << error.report().render(color_wanted(STDERR_FILENO)) << '\n';
    return bad_usage;
  } catch (const UsageError& error) {
    print_error(error.what());
    return bad_usage;
  } catch (const std::bad_alloc&) {
    print_error("out of memory; take a smaller shape, fewer ranks or a machine with more");
    return failed;
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
  program.footer(program_footer);
  program.require_subcommand(1);
  program.get_formatter()->column_width(36);

  Action action;
  for (const auto add : subcommands) add(program, action);
  check_values(program);
  if (const std::string option = option_without_value({argv, static_cast<std::size_t>(argc)}); !option.empty()) {
    print_error(option + ": " + is_empty);
    return bad_usage;
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(program, error);
  }
  return finish(perform(action));
}

}  // namespace
}  // namespace irisgen::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file over its limit is an error with a sentence, not the end
  return irisgen::cli::run_program(argc, argv);
}
