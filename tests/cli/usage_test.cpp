// The command line itself: help, wrong usage, exit codes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/program.hpp"

namespace irisgen::test::usage_test {
namespace {

const std::vector<std::string> subcommands = {"list",    "schema", "doctor", "check", "explain", "generate",
                                              "compile", "run",    "bench",  "tune",  "cache"};

TEST(Usage, HelpNamesEverySubcommandAndTheExitCodes) {
  const Outcome outcome = irisgen({"--help"});
  EXPECT_EQ(outcome.code, 0);
  for (const std::string& name : subcommands) EXPECT_NE(outcome.out.find("\n  " + name), std::string::npos) << name;
  EXPECT_NE(outcome.out.find("Exit codes: 0 ok, 1 the work failed, 2 bad usage"), std::string::npos);
  EXPECT_EQ(outcome.err, "");
}

TEST(Usage, HelpOfEverySubcommandShowsExamples) {
  for (const std::string& name : subcommands) {
    const Outcome outcome = irisgen({name, "--help"});
    EXPECT_EQ(outcome.code, 0) << name;
    EXPECT_NE(outcome.out.find("irisgen " + name), std::string::npos) << name << '\n' << outcome.out;
    EXPECT_EQ(outcome.err, "") << name;
  }
}

TEST(Usage, WrongUsageIsTwo) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), small_spec());
  const std::string spec = folder.file("spec.yaml");
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"frobnicate"},
      {"--nonsense"},
      {"check"},
      {"generate", "a.yaml"},
      {"list", "surplus"},
      {"compile", "a.yaml", "-o", "x"},
      {"run", spec, "--repeat", "0"},
      {"run", spec, "--seed", "-1"},
      {"run", spec, "--seed", "18446744073709551616"},
      {"run", spec, "--no-verify=3"},
      {"run", spec, "--compiler", "gcc"},
      {"compile", spec, "--target", "host", "-o", folder.file("code"), "--compiler", "gcc"},
      {"bench", spec, "--seed", "-1"},
      {"bench", spec, "--target", "host"},
      {"bench", spec, "--against", "mpi"},
      {"bench"},
      {"bench", spec, "--calibrate"},
      {"bench", "--calibrate", "--target", "host"},
      {"bench", spec, "--table", folder.file("rates.json")},
      {"bench", spec, "--target", "sm_90a", "--svg", spec},
      {"bench", spec, "--target", "sm_90a", "--against", "rccl"},
      {"run", spec, "--world", "17"},
      {"run", spec, "--world", "02"},
      {"run", spec, "--seed", "010"},
      {"run", spec, "--repeat", "0x10"},
      {"run", spec, "--tuning", folder.file("nowhere.json")},
      {"explain", spec, "--tuning", "."},
      {"explain", spec, "--tuning", ""},
      {"tune", spec, "--target", "host"},
      {"tune", spec, "--budget", "5x"},
      {"tune", spec, "--budget", "s"},
      {"tune", spec, "--sizes", "1K:1"},
      {"tune", spec, "--model"},
      {"cache"},
      {"schema", "unheard_of"},
  };
  for (const auto& arguments : wrong) {
    const Outcome outcome = irisgen(arguments);
    std::string line;
    for (const auto& argument : arguments) line += argument + " ";
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_EQ(outcome.out, "") << line;
    EXPECT_NE(outcome.err.find("irisgen: error: "), std::string::npos) << line << outcome.err;
  }
}

TEST(Usage, BenchSaysBeforeItMeasuresWhatIsNoCollective) {
  const TemporaryFolder folder;
  const std::string spec = folder.file("spec.yaml");
  write_file(spec,
             "irisgen: 1\nkernels:\n"
             "  - {name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 8}}\n"
             "  - {name: product, pattern: matmul, dtype: f32, world: 2, shape: {m: 8, n: 8, k: 8}}\n");
  for (const auto& [option, value] : {std::pair{"--against", std::string("nccl")}, {"--svg", folder.file("a.svg")}}) {
    const Outcome outcome = irisgen({"bench", spec, "--target", "sm_90a", option, value});
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("collectives, and product is a matmul; choose with --kernel"), std::string::npos)
        << outcome.err;
  }
}

TEST(Usage, MistypedWordsGetTheNearest) {
  const auto tells = [](const std::vector<std::string>& arguments, const std::string& sentence) {
    const std::string told = irisgen(arguments).err;
    EXPECT_NE(told.find(sentence), std::string::npos) << told;
  };
  tells({"generat", "a.yaml"}, "unknown subcommand 'generat'; did you mean 'generate'?");
  tells({"check", "a.yaml", "--targt=host"}, "unknown option '--targt'; did you mean '--target'?");
  tells({"check", "--targt", "host"}, "unknown option '--targt'; did you mean '--target'?");
  tells({"--versoin"}, "unknown option '--versoin'; did you mean '--version'?");
  tells({"cache", "lst"}, "unknown subcommand 'lst'; did you mean 'list'?");
  tells({}, "name a subcommand; one of: check, explain");
  tells({"list", "--json=3"}, "--json takes no value");
  tells({"--json", "list"}, "'--json' belongs behind the subcommand: irisgen list --json");

  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), small_spec());
  const Outcome target = irisgen({"explain", folder.file("spec.yaml"), "--target", "gfx94"});
  EXPECT_EQ(target.code, 2);
  EXPECT_NE(target.err.find("unknown target 'gfx94'; did you mean 'gfx942'"), std::string::npos) << target.err;
  const Outcome kernel = irisgen({"run", folder.file("spec.yaml"), "--kernel", "smal"});
  EXPECT_EQ(kernel.code, 2);
  EXPECT_NE(kernel.err.find("did you mean 'small'"), std::string::npos) << kernel.err;
}

TEST(Usage, VersionIsPrinted) {
  const Outcome outcome = irisgen({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.rfind("irisgen ", 0), 0u) << outcome.out;
}

TEST(Usage, NoColoursOffATerminal) {
  const TemporaryFolder folder;
  write_file(folder.file("spec.yaml"), "irisgen: 2\n");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"list"}, {"doctor"}, {"check", folder.file("spec.yaml")}, {"frobnicate"}}) {
    const Outcome outcome = irisgen(arguments, {.environment = {{"TERM", "xterm-256color"}}});
    EXPECT_EQ((outcome.out + outcome.err).find('\033'), std::string::npos) << arguments[0];
  }
}

TEST(Usage, OutputThatCannotBeWrittenIsAFailure) {
  for (const std::string arguments : {"schema", "--help", "run --help", "--version"}) {
    const Outcome outcome = run_program("sh", {"-c", IRISGEN_PROGRAM " " + arguments + " > /dev/full"});
    EXPECT_EQ(outcome.code, 1) << arguments;
    EXPECT_NE(outcome.err.find("cannot write to standard output"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace irisgen::test::usage_test
