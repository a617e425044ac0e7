#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generator/cli/files.hpp"
#include "generator/cli/launcher_options.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "iris/jit.hpp"
#include "irisgen/generate.hpp"
#include "irisgen/launcher.hpp"
#include "irisgen/output.hpp"

namespace irisgen::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CompileOptions {
  std::string spec;
  fs::path folder;
  std::vector<std::string> targets;
  std::string compiler;
  fs::path embed;
  LauncherOptions launcher;
  fs::path depfile;
  TuningOption tuning = TuningOption("shipped");
  DeviceOption device = {};
  bool quiet = false;
  bool json = false;
};

constexpr const char* compile_footer =
    R"(Writes NAME.wWORLD.TARGET.hsaco (AMD), .cubin (NVIDIA) or .so (host), for each part of an operation, and reports what each kernel takes of a compute
unit: registers per thread, shared memory per block, bytes spilled per thread. `irisgen generate` writes the manifests
to launch them from. No GPU is needed. Code that an earlier run made of this specification, and this one does not, is
removed: name all targets at once, or give each a folder.

Examples:
  irisgen compile spec.yaml --target gfx942 -o kernels
  irisgen compile spec.yaml --target gfx90a --compiler hiprtc -o kernels
  irisgen compile spec.yaml --target host -o kernels --embed kernels/spec.kernels.cpp
                                     (what irisgen_generate() of the CMake package runs))";

std::string_view extension_of(Platform platform) {
  switch (platform) {
    case Platform::amd:
      return ".hsaco";
    case Platform::nvidia:
      return ".cubin";
    case Platform::host:
      return ".so";
  }
  return "";
}

/// A plan and what it was compiled to.
struct Compiled {
  Plan plan;
  iris::BuiltOperation built;

  std::string file(std::size_t kernel) const {
    return plan.kernels.at(kernel).stem + std::string(extension_of(plan.target->platform));
  }
};

std::vector<Compiled> compile_all(const Spec& spec, const CompileOptions& options) {
  std::vector<Compiled> all;
  Progress progress;
  const std::vector<TuningTable> tables = options.tuning.tables();
  std::vector<Plan> plans =
      plan_all(spec, targets_named(options.targets), {.tuning = tables, .device = options.device.known_to(tables)});
  for (Plan& plan : plans) {
    progress.show("compiling " + std::to_string(all.size() + 1) + " of " + std::to_string(plans.size()) + ": " +
                  plan.stem);
    iris::BuiltOperation built = iris::build_operation(plan, options.compiler);
    all.push_back({std::move(plan), std::move(built)});
  }
  return all;
}

WriteResult write_code(const std::vector<Compiled>& all, const CompileOptions& options) {
  std::vector<OutputFile> files;
  for (const Compiled& compiled : all) {
    for (std::size_t kernel = 0; kernel < compiled.built.code.size(); ++kernel) {
      const auto& bytes = compiled.built.code[kernel].bytes;
      files.push_back({compiled.file(kernel), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
  }
  const std::vector<fs::path> outputs = paths_in(options.folder, files);
  check_apart({"--embed", options.embed, is_embedding}, outputs);
  check_apart({"--depfile", options.depfile, is_depfile}, outputs);
  return write_folder(options.folder, owner_of("compile", options.spec, options.folder), files,
                      {.force = true});  // nobody edits compiled code
}

void write_embedding(const std::vector<Compiled>& all, const CompileOptions& options) {
  std::vector<EmbeddedBuild> builds;
  builds.reserve(all.size());
  for (const Compiled& compiled : all) {
    EmbeddedBuild build{compiled.built.manifest, {}, compiled.built.code.front().compiler};
    for (const iris::CodeObject& code : compiled.built.code) build.code.emplace_back(code.bytes);
    builds.push_back(std::move(build));
  }
  write_file(options.embed, emit_embedding(builds, options.launcher));
}

/// The specification, tables, and sources of the user's own.
std::vector<fs::path> inputs_of_code(const std::vector<Compiled>& all, const CompileOptions& options) {
  std::vector<fs::path> inputs = inputs_of(options.spec, options.tuning.files());
  std::vector<Plan> plans;
  plans.reserve(all.size());
  for (const Compiled& compiled : all) plans.push_back(compiled.plan);
  std::ranges::copy(sources_of(plans), std::back_inserter(inputs));
  return inputs;
}

/// What the embedding is made of: the inputs, and the launchers that it includes. A build that lost one makes it again.
std::vector<fs::path> inputs_of_embedding(const std::vector<Compiled>& all, const CompileOptions& options) {
  std::vector<fs::path> inputs = inputs_of_code(all, options);
  std::set<fs::path> launchers;
  for (const Compiled& compiled : all) {
    launchers.insert(options.embed.parent_path() / (compiled.built.manifest.name + ".hpp"));
  }
  std::ranges::copy_if(launchers, std::back_inserter(inputs), [](const fs::path& file) { return fs::exists(file); });
  return inputs;
}

void write_depfile(const std::vector<Compiled>& all, const CompileOptions& options) {
  if (!options.embed.empty()) {  // the one that a build rule names
    write_file(options.depfile, depfile(std::array{options.embed}, inputs_of_embedding(all, options)));
    return;
  }
  std::vector<fs::path> outputs;
  for (const Compiled& compiled : all) {
    for (std::size_t kernel = 0; kernel < compiled.built.code.size(); ++kernel) {
      outputs.push_back(options.folder / compiled.file(kernel));
    }
  }
  write_file(options.depfile, depfile(outputs, inputs_of_code(all, options)));
}

std::string text_of(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "-";
}

void print_table(const std::vector<Compiled>& all, const CompileOptions& options) {
  Table table({"file", "bytes", "registers", "scalar", "shared bytes", "spilled bytes", "compiler"});
  for (const Compiled& compiled : all) {
    for (std::size_t kernel = 0; kernel < compiled.built.code.size(); ++kernel) {
      const iris::CodeObject& code = compiled.built.code[kernel];
      table.add({(options.folder / compiled.file(kernel)).string(), std::to_string(code.bytes.size()),
                 text_of(code.resources.registers), text_of(code.resources.scalar_registers),
                 text_of(code.resources.shared_bytes), text_of(code.resources.spill_bytes),
                 code.compiler + (code.from_cache ? " (cached)" : "")});
    }
  }
  table.print(std::cout, "");
}

Json json_of(const std::optional<int>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Compiled& compiled, std::size_t kernel) {
  const iris::CodeObject& code = compiled.built.code[kernel];
  const KernelPlan& plan = compiled.plan.kernels[kernel];
  return {{"file", compiled.file(kernel)},
          {"kernel", compiled.plan.name},
          {"part", plan.part},
          {"symbol", plan.symbol},
          {"world", compiled.plan.problem.world},
          {"target", compiled.plan.target->name},
          {"compiler", code.compiler},
          {"from_cache", code.from_cache},
          {"bytes", code.bytes.size()},
          {"registers", json_of(code.resources.registers)},
          {"scalar_registers", json_of(code.resources.scalar_registers)},
          {"shared_bytes", json_of(code.resources.shared_bytes)},
          {"spill_bytes", json_of(code.resources.spill_bytes)}};
}

ExitCode compile(const CompileOptions& options) {
  targets_named(options.targets);
  check_compiler(options.compiler);
  check_launcher_options(options.launcher);
  const std::vector<fs::path> inputs = inputs_of(options.spec, options.tuning.files());
  check_named_file({"--embed", options.embed, is_embedding}, inputs);
  check_named_file({"--depfile", options.depfile, is_depfile}, inputs);
  if (!options.embed.empty()) check_apart({"--depfile", options.depfile, is_depfile}, {{options.embed}});
  const std::vector<Compiled> all = compile_all(load_spec(options.spec), options);
  write_code(all, options);
  if (!options.embed.empty()) write_embedding(all, options);
  if (!options.depfile.empty()) write_depfile(all, options);
  if (options.json) {
    Json rows = Json::array();
    for (const Compiled& compiled : all) {
      for (std::size_t kernel = 0; kernel < compiled.built.code.size(); ++kernel) {
        rows.push_back(to_json(compiled, kernel));
      }
    }
    print_json(rows);
  } else if (!options.quiet) {
    print_table(all, options);
  }
  note_cache_problem();
  return ok;
}

}  // namespace

void add_compile(CLI::App& program, Action& action) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command = program.add_subcommand("compile", "Compile every kernel to a code object");
  command->footer(compile_footer);
  command->add_option("SPEC", options->spec, spec_help)->required();
  command->add_option("-o,--output-dir", options->folder, "Folder to write to; made if need be")->required();
  command->add_option("--target", options->targets, "Target to compile for (repeatable)")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--compiler", options->compiler, "clang, hiprtc or nvrtc, where several can do a target");
  command->add_option("--embed", options->embed, "Also write a C++ source that builds the code into a program");
  add_launcher_options(*command, options->launcher);
  options->tuning.add_to(*command);
  options->device.add_to(*command);
  command->add_option("--depfile", options->depfile, "Also write the dependencies, as Make and Ninja read them");
  auto* quiet = command->add_flag("-q,--quiet", options->quiet, "Say nothing unless it fails");
  command->add_flag("--json", options->json, "Print the report as JSON")->excludes(quiet);
  command->callback([options, &action] { action = [options] { return compile(*options); }; });
}

}  // namespace irisgen::cli
