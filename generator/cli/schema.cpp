#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "generator/cli/program.hpp"
#include "generator/language/resources.hpp"

namespace irisgen::cli {
namespace {

constexpr const char* schema_footer = R"(The schema is the authority for validation, and what an editor completes from:
  irisgen schema > spec.schema.json
  # yaml-language-server: $schema=spec.schema.json      (first line of a specification)

The schemas of the manifests beside emitted kernels, and of tuning tables:
  irisgen schema manifest
  irisgen schema tuning)";

ExitCode print_schema(const std::string& name) {
  const auto schema = resource("schemas/" + name + ".json");
  if (!schema) throw std::logic_error("the program lacks its schema '" + name + "'");
  std::cout << *schema;
  return ok;
}

}  // namespace

void add_schema(CLI::App& program, Action& action) {
  auto name = std::make_shared<std::string>("spec");
  CLI::App* command = program.add_subcommand("schema", "Print the language's JSON Schema");
  command->footer(schema_footer);
  command->add_option("NAME", *name, "Which schema")
      ->check(CLI::IsMember({"spec", "manifest", "tuning"}))
      ->capture_default_str();
  command->callback([name, &action] { action = [name] { return print_schema(*name); }; });
}

}  // namespace irisgen::cli
